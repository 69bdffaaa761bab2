/* A server: models behind HTTP, answering and learning. */
#ifndef FERRY_SERVE_H
#define FERRY_SERVE_H

#include "ferry/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A server at work, in threads of its own. Opaque. */
typedef struct ferry_server ferry_server;

/** The settings that ferry_server_start() takes. */
FERRY_API const ferry_opt_table *ferry_serve_options(void);

/**
 * Load the models and begin to answer. The context's log gets a line for what an operator
 * should know, from any thread but one at a time; it must outlive the server.
 *
 * @param models  a model file, or a folder: NAME.ferry, or NAME/VERSION.ferry for several
 *                versions (docs/serve.md)
 * @param opts    settings of ferry_serve_options(); NULL: the defaults
 * @param out     new server for ferry_server_stop(); NULL when the call fails
 * @return FERRY_EINVAL for settings that do not go together, FERRY_EDATA for a model or a
 *         file of tokens that is wrong, FERRY_EIO when the address cannot be used,
 *         FERRY_ENEEDS when TLS is wanted and GnuTLS is not there
 */
FERRY_API ferry_status ferry_server_start(ferry_ctx *ctx, const char *models,
                                          const ferry_opts *opts, ferry_server **out);
/** Where it listens, as a URL or unix:PATH. Borrowed. */
FERRY_API const char *ferry_server_address(const ferry_server *server);
/** Look at the models and the tokens again, soon. May be called from a signal handler. */
FERRY_API void ferry_server_reload(ferry_server *server);
/**
 * Stop: takes no more requests, finishes those that came, writes a snapshot of every model
 * that learns. Frees the server in any case.
 * @return FERRY_EIO when a snapshot could not be written (nothing is lost: the log has it)
 */
FERRY_API ferry_status ferry_server_stop(ferry_ctx *ctx, ferry_server *server);

#ifdef __cplusplus
}
#endif

#endif
