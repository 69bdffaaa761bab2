/* The parts of report.html, embedded when Ferry is built (embed.c). */
#ifndef FERRY_PAGE_H
#define FERRY_PAGE_H

extern const char ferry_i_page_vega[], ferry_i_page_plots[], ferry_i_page_script[],
    ferry_i_page_style[];

#endif
