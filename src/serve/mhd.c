/* libmicrohttpd, loaded when a server starts: nobody else pays for it and its TLS library. */
#include "serve/serve.h"

serve_mhd ferry_i_mhd;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool works;
static char why[FERRY_LOAD_WHY];

static void load(void)
{
    static const ferry_symbol want[] = {
        {"MHD_start_daemon", &ferry_i_mhd.start},
        {"MHD_stop_daemon", &ferry_i_mhd.stop},
        {"MHD_quiesce_daemon", &ferry_i_mhd.quiesce},
        {"MHD_queue_response", &ferry_i_mhd.queue},
        {"MHD_create_response_from_buffer", &ferry_i_mhd.response},
        {"MHD_create_response_from_buffer_with_free_callback", &ferry_i_mhd.response_free},
        {"MHD_add_response_header", &ferry_i_mhd.header},
        {"MHD_destroy_response", &ferry_i_mhd.destroy},
        {"MHD_lookup_connection_value", &ferry_i_mhd.value},
        {"MHD_get_connection_values", &ferry_i_mhd.values},
        {"MHD_suspend_connection", &ferry_i_mhd.suspend},
        {"MHD_resume_connection", &ferry_i_mhd.resume},
        {"MHD_get_connection_info", &ferry_i_mhd.info},
        {"MHD_is_feature_supported", &ferry_i_mhd.feature},
    };

    works = ferry_i_load("libmicrohttpd.so.12", want, FERRY_COUNT(want), why);
}

ferry_status ferry_i_mhd_load(ferry_ctx *ctx)
{
    (void)pthread_once(&once, load);
    if (works) return FERRY_OK;
    return ferry_i_fail(ctx, FERRY_ENEEDS,
                        "libmicrohttpd cannot be loaded (Debian: libmicrohttpd12): %s",
                        why);
}
