import ferryml

result = ferryml.load_results("results/digits")   # pairs of rows are given in a task file: ferry run digits/task.yaml
print(result)                                     # the table; in a notebook, the report
print(result.explain("hemap"))
