# cmake -DIN=FILE -DOUT=FILE.c -DNAME=symbol -P embed.cmake: the bytes of a file as a C array that ends in 0.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
file(WRITE ${OUT} "extern const char ${NAME}[];\nconst char ${NAME}[] = {${bytes}0};\n")
