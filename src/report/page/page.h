/* The parts of report.html, embedded when Ferry is built (embed.c). */
#ifndef FERRY_PAGE_H
#define FERRY_PAGE_H

extern const char ferry_i_page_vega[], ferry_i_page_plots[], ferry_i_page_script[],
    ferry_i_page_style[];
/* Of the page that a server shows (src/serve). */
extern const char ferry_i_page_serve[], ferry_i_page_serve_style[];

#endif
