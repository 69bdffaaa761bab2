"""The C library's structs, constants and signatures. Written by generate.py from include/ferry: do not edit."""
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_double, c_float, c_int, c_int32,
                    c_int64, c_size_t, c_uint, c_uint8, c_uint64, c_void_p)

VERSION = (0, 3)
FERRY_ALL_LABELS = -1
FERRY_AS_FITTED = -2

# ferry_status
FERRY_OK = 0
FERRY_EINVAL = -1
FERRY_EDATA = -2
FERRY_ENOMEM = -3
FERRY_EIO = -4
FERRY_ECANCELLED = -5
FERRY_ENUMERIC = -6
FERRY_ENEEDS = -7

# ferry_level
FERRY_DEBUG = 0
FERRY_INFO = 1
FERRY_WARN = 2

# ferry_answer
FERRY_GO = 0
FERRY_FINISH = 1
FERRY_CANCEL = 2

# ferry_role
FERRY_SOURCE = 0
FERRY_INTERMEDIATE = 1
FERRY_TARGET = 2

# ferry_kind
FERRY_KIND_BASELINE = 0
FERRY_KIND_TRANSFER = 1
FERRY_KIND_CONTROL = 2

# ferry_stop
FERRY_STOP_DONE = 0
FERRY_STOP_TOL = 1
FERRY_STOP_MAX_ITER = 2
FERRY_STOP_FINISH = 3

# ferry_basis
FERRY_BASIS_VIEWS = 0
FERRY_BASIS_NEIGHBOURS = 1
FERRY_BASIS_BASE = 2

# ferry_opt_type
FERRY_OPT_INT = 0
FERRY_OPT_REAL = 1
FERRY_OPT_BOOL = 2
FERRY_OPT_CHOICE = 3
FERRY_OPT_TEXT = 4
FERRY_OPT_FILE = 5

# ferry_verdict
FERRY_UNJUDGED = 0
FERRY_HELPS = 1
FERRY_OPEN = 2
FERRY_HARMS = 3
FERRY_GOOD_LEARNER = 4
FERRY_SOURCE_OPEN = 5
FERRY_IGNORES_SOURCE = 6
FERRY_WEAK_LEARNER = 7
FERRY_SAME = 8
FERRY_BEST = 9

# ferry_uses
FERRY_USES_TARGET_ONLY = 0
FERRY_USES_POOLED = 1
FERRY_USES_SOURCE_ONLY = 2
FERRY_USES_TRANSFER = 3
FERRY_USES_CONTROL = 4

# ferry_worth
FERRY_WORTH_UNKNOWN = 0
FERRY_WORTH_IT = 1
FERRY_NOT_WORTH_IT = 2
FERRY_WORTH_OPEN = 3

# ferry_goal
FERRY_CLASSIFY = 1
FERRY_REGRESS = 2
FERRY_MULTILABEL = 4
FERRY_RATE = 8
FERRY_EMBED = 16
FERRY_STREAM = 32


class ferry_array(Structure):
    pass


class ferry_sparse(Structure):
    pass


class ferry_borrow(Structure):
    pass


class ferry_progress(Structure):
    pass


class ferry_installation(Structure):
    pass


class ferry_format_info(Structure):
    pass


class ferry_description(Structure):
    pass


class ferry_advice(Structure):
    pass


class ferry_advice_method(Structure):
    pass


class ferry_advice_domain(Structure):
    pass


class ferry_dataset(Structure):
    pass


class ferry_generator_info(Structure):
    pass


class ferry_method_info(Structure):
    pass


class ferry_fit_info(Structure):
    pass


class ferry_prediction(Structure):
    pass


class ferry_model_info(Structure):
    pass


class ferry_diagnostic(Structure):
    pass


class ferry_opt(Structure):
    pass


class ferry_setting(Structure):
    pass


class ferry_truth(Structure):
    pass


class ferry_primary(Structure):
    pass


class ferry_run_info(Structure):
    pass


class ferry_result(Structure):
    pass


class ferry_metric_runs(Structure):
    pass


class ferry_repeat_prediction(Structure):
    pass


class ferry_blend_member(Structure):
    pass


class ferry_recommendation(Structure):
    pass


class ferry_way(Structure):
    pass


class ferry_row(Structure):
    pass


class ferry_repaired(Structure):
    pass


class ferry_task_method(Structure):
    pass


ferry_release_fn = CFUNCTYPE(None, c_void_p)
ferry_log_fn = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
ferry_progress_fn = CFUNCTYPE(c_int, c_void_p, POINTER(ferry_progress))
ferry_run_fn = CFUNCTYPE(c_int, c_void_p, c_char_p, c_char_p)

ferry_array._fields_ = [
    ("rows", c_int64),
    ("cols", c_int64),
    ("ld", c_int64),
    ("data", c_void_p),
]

ferry_sparse._fields_ = [
    ("rows", c_int64),
    ("cols", c_int64),
    ("start", c_void_p),
    ("index", c_void_p),
    ("value", c_void_p),
    ("start32", c_void_p),
]

ferry_borrow._fields_ = [
    ("release", ferry_release_fn),
    ("user", c_void_p),
]

ferry_progress._fields_ = [
    ("what", c_char_p),
    ("done", c_int64),
    ("total", c_int64),
    ("step", c_int64),
    ("steps", c_int64),
    ("objective", c_double),
]

ferry_installation._fields_ = [
    ("size", c_size_t),
    ("version", c_char_p),
    ("compiler", c_char_p),
    ("n_libraries", c_int64),
    ("libraries", POINTER(c_char_p)),
    ("library_versions", POINTER(c_char_p)),
    ("n_engines", c_int64),
    ("engines", POINTER(c_char_p)),
    ("engine_summaries", POINTER(c_char_p)),
    ("engine_works", c_void_p),
    ("engine", c_char_p),
    ("blas_core", c_char_p),
    ("blas_wanted", c_char_p),
    ("isa", c_char_p),
    ("threads", c_int64),
    ("cores", c_int64),
    ("memory", c_int64),
    ("memory_available", c_int64),
    ("system", c_char_p),
    ("release", c_char_p),
    ("architecture", c_char_p),
    ("cpu", c_char_p),
    ("n_problems", c_int64),
    ("problems", POINTER(c_char_p)),
    ("json", c_char_p),
]

ferry_format_info._fields_ = [
    ("name", c_char_p),
    ("extensions", c_char_p),
    ("summary", c_char_p),
    ("writes", c_int),
]

ferry_description._fields_ = [
    ("size", c_size_t),
    ("path", c_char_p),
    ("format", c_char_p),
    ("kind", c_char_p),
    ("memory_bytes", c_int64),
    ("rows", c_int64),
    ("columns", c_int64),
    ("sparse", c_int),
    ("nonzeros", c_int64),
    ("missing", c_int64),
    ("empty_rows", c_int64),
    ("n_features", c_int64),
    ("features", POINTER(c_char_p)),
    ("n_ids", c_int64),
    ("ids", POINTER(c_char_p)),
    ("density", c_double),
    ("min", c_double),
    ("max", c_double),
    ("mean", c_double),
    ("label_kind", c_char_p),
    ("labels_known", c_int64),
    ("labels_missing", c_int64),
    ("label_min", c_double),
    ("label_max", c_double),
    ("label_mean", c_double),
    ("label_std", c_double),
    ("cardinality", c_double),
    ("n_counts", c_int64),
    ("count_names", POINTER(c_char_p)),
    ("counts", c_void_p),
    ("nodes", c_int64),
    ("edges", c_int64),
    ("self_links", c_int64),
    ("ratings", c_int64),
    ("to_predict", c_int64),
    ("users", c_int64),
    ("items", c_int64),
    ("n_members", c_int64),
    ("members", POINTER(c_char_p)),
    ("member_types", POINTER(c_char_p)),
    ("json", c_char_p),
    ("scale", c_char_p),
    ("scale_reason", c_char_p),
]

ferry_advice._fields_ = [
    ("size", c_size_t),
    ("task", c_char_p),
    ("goal", c_int),
    ("target", c_char_p),
    ("visible", c_int64),
    ("repeats", c_int64),
    ("of_other_goals", c_int64),
    ("links", c_char_p),
    ("scored", c_int64),
    ("power", c_double * 3),
    ("seconds_repeats", c_double),
    ("seconds_controls", c_double),
    ("seconds_answer", c_double),
    ("json", c_char_p),
]

ferry_advice_method._fields_ = [
    ("size", c_size_t),
    ("name", c_char_p),
    ("method", c_char_p),
    ("kind", c_int),
    ("reason", c_char_p),
    ("seconds", c_double),
    ("measured", c_int),
    ("bytes", c_double),
    ("uses", c_char_p),
]

ferry_advice_domain._fields_ = [
    ("size", c_size_t),
    ("name", c_char_p),
    ("role", c_int),
    ("instances", c_int64),
    ("labels", c_int64),
    ("n_views", c_int64),
    ("views", POINTER(c_char_p)),
    ("view_rows", c_void_p),
    ("view_features", c_void_p),
    ("n_graphs", c_int64),
    ("graphs", POINTER(c_char_p)),
    ("graph_edges", c_void_p),
    ("ratings", c_int64),
    ("shared_features", c_int64),
    ("feature_overlap", c_double),
    ("id_overlap", c_double),
    ("label_overlap", c_double),
    ("a_distance", c_double),
    ("complexity", c_double),
]

ferry_dataset._fields_ = [
    ("name", c_char_p),
    ("summary", c_char_p),
    ("terms", c_char_p),
    ("files", c_int64),
    ("bytes", c_int64),
]

ferry_generator_info._fields_ = [
    ("name", c_char_p),
    ("summary", c_char_p),
    ("options", c_void_p),
]

ferry_method_info._fields_ = [
    ("name", c_char_p),
    ("summary", c_char_p),
    ("reference", c_char_p),
    ("kind", c_int),
    ("goals", c_uint),
    ("needs", c_char_p),
    ("options", c_void_p),
    ("asked", c_int),
]

ferry_fit_info._fields_ = [
    ("size", c_size_t),
    ("stop", c_int),
    ("iters", c_int64),
    ("objective", c_double),
    ("seconds", c_double),
]

ferry_prediction._fields_ = [
    ("goal", c_int),
    ("n", c_int64),
    ("k", c_int64),
    ("cls", c_void_p),
    ("score", c_void_p),
    ("value", c_void_p),
    ("set", c_void_p),
    ("names", POINTER(c_char_p)),
    ("ids", POINTER(c_char_p)),
    ("items", POINTER(c_char_p)),
    ("basis", c_void_p),
    ("group", c_void_p),
]

ferry_model_info._fields_ = [
    ("size", c_size_t),
    ("method", c_char_p),
    ("goal", c_int),
    ("views", c_int64),
    ("graphs", c_int64),
    ("classes", c_int64),
    ("columns", c_int64),
    ("diagnostics", c_char_p),
    ("streams", c_int),
    ("watches", c_int),
    ("votes", c_int64),
]

ferry_diagnostic._fields_ = [
    ("size", c_size_t),
    ("name", c_char_p),
    ("count", c_int64),
    ("numbers", c_void_p),
    ("texts", POINTER(c_char_p)),
]

ferry_opt._fields_ = [
    ("name", c_char_p),
    ("type", c_int),
    ("offset", c_size_t),
    ("def", c_char_p),
    ("min", c_double),
    ("max", c_double),
    ("choices", c_char_p),
    ("help", c_char_p),
]

ferry_setting._fields_ = [
    ("key", c_char_p),
    ("value", c_char_p),
]

ferry_truth._fields_ = [
    ("size", c_size_t),
    ("n", c_int64),
    ("k", c_int64),
    ("names", POINTER(c_char_p)),
    ("cls", c_void_p),
    ("value", c_void_p),
    ("set", c_void_p),
    ("known", c_void_p),
]

ferry_primary._fields_ = [
    ("size", c_size_t),
    ("name", c_char_p),
    ("share", c_double),
    ("named", c_int),
    ("gain", c_double),
    ("low", c_double),
    ("high", c_double),
    ("most", c_double),
    ("p", c_double),
    ("level", c_double),
    ("decided", c_int),
    ("repeats", c_int64),
    ("needed_repeats", c_int64),
    ("needed_rows", c_int64),
]

ferry_run_info._fields_ = [
    ("size", c_size_t),
    ("version", c_char_p),
    ("task", c_char_p),
    ("target", c_char_p),
    ("goal", c_int),
    ("seed", c_uint64),
    ("planned", c_int64),
    ("repeats", c_int64),
    ("visible", c_int64),
    ("engine", c_char_p),
    ("blas_core", c_char_p),
    ("threads", c_int),
    ("controls", c_char_p),
    ("best", c_int64),
    ("best_baseline", c_int64),
    ("sentence", c_char_p),
    ("arriving", c_double),
    ("delay", c_int64),
    ("least", c_double),
    ("truth", POINTER(ferry_truth)),
    ("bridge", c_char_p),
    ("folds", c_int64),
    ("reference", c_char_p),
    ("reference_mean", c_double),
    ("primary", POINTER(ferry_primary)),
]

ferry_result._fields_ = [
    ("size", c_size_t),
    ("name", c_char_p),
    ("method", c_char_p),
    ("kind", c_int),
    ("options", c_void_p),
    ("reason", c_char_p),
    ("rank", c_int64),
    ("note", c_char_p),
    ("repeats", c_int64),
    ("runs", c_void_p),
    ("mean", c_double),
    ("std", c_double),
    ("seconds", c_void_p),
    ("baseline", c_char_p),
    ("pairs", c_int64),
    ("gain", c_double),
    ("low", c_double),
    ("high", c_double),
    ("p_compare", c_double),
    ("verdict", c_int),
    ("p", c_double),
    ("p_holm", c_double),
    ("sentence", c_char_p),
    ("points", c_int64),
    ("curve_rows", c_void_p),
    ("curve_mean", c_void_p),
    ("curve_std", c_void_p),
    ("bound", c_double),
    ("se", c_double),
    ("df", c_double),
    ("fixed", c_int),
    ("p_high", c_double),
    ("p_low", c_double),
    ("control_draws", c_int64),
    ("as_good", c_int64),
    ("as_bad", c_int64),
    ("needed_repeats", c_int64),
    ("needed_rows", c_int64),
    ("needed_draws", c_int64),
    ("needed_seconds", c_double),
    ("unasked", c_int),
    ("uses", c_int),
    ("most", c_double),
    ("over_best", c_double),
    ("over_best_low", c_double),
    ("over_best_high", c_double),
    ("p_best", c_double),
    ("source_worth", c_double),
    ("source_worth_low", c_double),
    ("source_worth_high", c_double),
]

ferry_metric_runs._fields_ = [
    ("size", c_size_t),
    ("name", c_char_p),
    ("larger_is_better", c_int),
    ("repeats", c_int64),
    ("runs", c_void_p),
    ("mean", c_double),
    ("std", c_double),
]

ferry_repeat_prediction._fields_ = [
    ("size", c_size_t),
    ("repeat", c_int64),
    ("given", POINTER(ferry_prediction)),
    ("place", c_void_p),
    ("scored", c_void_p),
]

ferry_blend_member._fields_ = [
    ("size", c_size_t),
    ("name", c_char_p),
    ("uses", c_int),
    ("weight", c_double),
]

ferry_recommendation._fields_ = [
    ("size", c_size_t),
    ("head", c_char_p),
    ("use", c_char_p),
    ("expect", c_char_p),
    ("source", c_char_p),
    ("next", c_char_p),
    ("remark", c_char_p),
    ("members", c_int64),
    ("member", POINTER(ferry_blend_member)),
    ("without", c_int64),
    ("member_without", POINTER(ferry_blend_member)),
    ("metric", c_char_p),
    ("larger_is_better", c_int),
    ("validated", c_int),
    ("calibrated", c_int),
    ("level", c_double),
    ("labels", c_int64),
    ("value", c_double),
    ("low", c_double),
    ("high", c_double),
    ("value_without", c_double),
    ("low_without", c_double),
    ("high_without", c_double),
    ("worth", c_double),
    ("worth_low", c_double),
    ("worth_high", c_double),
    ("verdict", c_int),
    ("share", c_double),
    ("needed_repeats", c_int64),
    ("repeats", c_int64),
    ("runs", c_void_p),
    ("runs_without", c_void_p),
    ("needed_labels", c_int64),
]

ferry_way._fields_ = [
    ("source", c_char_p),
    ("target", c_char_p),
    ("n", c_int64),
    ("domain", c_char_p * 3),
    ("q", c_double),
    ("q_sd", c_double),
    ("source_kappa", c_double),
    ("bridge_reliability", c_double),
    ("reliability", c_double),
    ("hits", c_int64),
    ("reached", c_bool),
    ("below", c_bool),
    ("tied", c_bool),
    ("recommended", c_bool),
    ("probability", c_double),
    ("feature", c_double * 6),
    ("leaks", c_int64),
    ("reason", c_char_p),
]

ferry_row._fields_ = [
    ("n", c_int64),
    ("index", c_void_p),
    ("value", c_void_p),
]

ferry_repaired._fields_ = [
    ("damaged", c_int),
    ("last", c_int64),
    ("lost", c_int64),
]

ferry_task_method._fields_ = [
    ("method", c_char_p),
    ("as", c_char_p),
    ("opts", c_void_p),
]

FUNCTIONS = {
    "ferry_status_name": (c_char_p, [c_int]),
    "ferry_version": (c_char_p, []),
    "ferry_string_free": (None, [c_void_p]),
    "ferry_ctx_new": (c_int, [POINTER(c_void_p)]),
    "ferry_ctx_free": (None, [c_void_p]),
    "ferry_message": (c_char_p, [c_void_p]),
    "ferry_ctx_set": (c_int, [c_void_p, c_char_p, c_char_p]),
    "ferry_ctx_get": (c_char_p, [c_void_p, c_char_p]),
    "ferry_ctx_set_log": (None, [c_void_p, ferry_log_fn, c_int, c_void_p]),
    "ferry_ctx_set_progress": (None, [c_void_p, ferry_progress_fn, c_void_p]),
    "ferry_ctx_set_run": (None, [c_void_p, ferry_run_fn, c_void_p]),
    "ferry_blas_core": (c_char_p, [POINTER(c_char_p)]),
    "ferry_doctor": (c_int, [c_void_p, POINTER(POINTER(ferry_installation))]),
    "ferry_installation_free": (None, [POINTER(ferry_installation)]),
    "ferry_format_at": (POINTER(ferry_format_info), [c_int64]),
    "ferry_read": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "ferry_write": (c_int, [c_void_p, c_void_p, c_char_p, c_void_p]),
    "ferry_data_describe": (c_int, [c_void_p, c_void_p, POINTER(POINTER(ferry_description))]),
    "ferry_description_free": (None, [POINTER(ferry_description)]),
    "ferry_data_free": (None, [c_void_p]),
    "ferry_domain_new": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_void_p)]),
    "ferry_domain_free": (None, [c_void_p]),
    "ferry_domain_name": (c_char_p, [c_void_p]),
    "ferry_domain_labels": (c_int64, [c_void_p]),
    "ferry_domain_write": (c_int, [c_void_p, c_void_p, c_char_p, c_char_p, c_void_p]),
    "ferry_domain_add_instances": (c_int, [c_void_p, c_void_p, c_int64, POINTER(c_char_p)]),
    "ferry_domain_add_dense": (c_int, [c_void_p, c_void_p, c_char_p, POINTER(ferry_array), POINTER(c_char_p), POINTER(c_char_p), POINTER(ferry_borrow)]),
    "ferry_domain_add_sparse": (c_int, [c_void_p, c_void_p, c_char_p, POINTER(ferry_sparse), POINTER(c_char_p), POINTER(c_char_p), POINTER(ferry_borrow)]),
    "ferry_domain_add_data": (c_int, [c_void_p, c_void_p, c_char_p, c_void_p]),
    "ferry_domain_add_graph": (c_int, [c_void_p, c_void_p, c_char_p, c_int64, POINTER(c_char_p), POINTER(c_char_p), c_void_p]),
    "ferry_domain_set_classes": (c_int, [c_void_p, c_void_p, c_int64, POINTER(c_char_p), POINTER(c_char_p)]),
    "ferry_domain_set_numbers": (c_int, [c_void_p, c_void_p, c_int64, POINTER(c_char_p), c_void_p]),
    "ferry_domain_set_labelsets": (c_int, [c_void_p, c_void_p, c_int64, POINTER(c_char_p), c_int64, POINTER(c_char_p), c_void_p]),
    "ferry_domain_set_weights": (c_int, [c_void_p, c_void_p, c_int64, POINTER(c_char_p), c_void_p]),
    "ferry_domain_set_ratings": (c_int, [c_void_p, c_void_p, c_int64, POINTER(c_char_p), POINTER(c_char_p), c_void_p]),
    "ferry_domain_set_labelled": (c_int, [c_void_p, c_void_p, c_char_p]),
    "ferry_evaluate": (c_int, [c_void_p, c_void_p, c_char_p, POINTER(c_void_p)]),
    "ferry_report_write": (c_int, [c_void_p, c_int64, POINTER(c_char_p), c_char_p]),
    "ferry_advise": (c_int, [c_void_p, c_void_p, POINTER(POINTER(ferry_advice))]),
    "ferry_advice_method_at": (POINTER(ferry_advice_method), [POINTER(ferry_advice), c_int64]),
    "ferry_advice_domain_at": (POINTER(ferry_advice_domain), [POINTER(ferry_advice), c_int64]),
    "ferry_advice_free": (None, [POINTER(ferry_advice)]),
    "ferry_task_rerun": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "ferry_fit_answer": (c_int, [c_void_p, c_void_p, c_int, POINTER(c_void_p)]),
    "ferry_catalog_load": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "ferry_catalog_free": (None, [c_void_p]),
    "ferry_catalog_at": (POINTER(ferry_dataset), [c_void_p, c_int64]),
    "ferry_fetch": (c_int, [c_void_p, c_void_p, c_char_p, c_char_p, c_void_p]),
    "ferry_generator_at": (POINTER(ferry_generator_info), [c_int64]),
    "ferry_generate": (c_int, [c_void_p, c_char_p, c_void_p, c_char_p]),
    "ferry_method_at": (POINTER(ferry_method_info), [c_int64]),
    "ferry_method_find": (POINTER(ferry_method_info), [c_char_p]),
    "ferry_fit": (c_int, [c_void_p, c_void_p, c_char_p, c_void_p, POINTER(c_void_p), POINTER(ferry_fit_info)]),
    "ferry_predict": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(POINTER(ferry_prediction))]),
    "ferry_prediction_keep_blank": (None, [POINTER(ferry_prediction), c_void_p]),
    "ferry_prediction_free": (None, [POINTER(ferry_prediction)]),
    "ferry_prediction_write": (c_int, [c_void_p, POINTER(ferry_prediction), c_char_p]),
    "ferry_model_fold_in": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(c_void_p)]),
    "ferry_recommend": (c_int, [c_void_p, c_void_p, c_int64, POINTER(c_char_p), c_int64, c_int, POINTER(POINTER(ferry_prediction))]),
    "ferry_model_save": (c_int, [c_void_p, c_void_p, c_char_p]),
    "ferry_model_load": (c_int, [c_void_p, c_char_p, c_char_p, POINTER(c_void_p)]),
    "ferry_model_to_memory": (c_int, [c_void_p, c_void_p, POINTER(c_void_p), c_void_p]),
    "ferry_model_from_memory": (c_int, [c_void_p, c_char_p, c_int64, c_char_p, POINTER(c_void_p)]),
    "ferry_model_get_info": (None, [c_void_p, POINTER(ferry_model_info)]),
    "ferry_model_diagnostic_at": (POINTER(ferry_diagnostic), [c_void_p, c_int64]),
    "ferry_model_class_at": (c_char_p, [c_void_p, c_int64]),
    "ferry_model_view_at": (c_char_p, [c_void_p, c_int64]),
    "ferry_model_read_view": (c_int, [c_void_p, c_void_p, c_char_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "ferry_model_graph_at": (c_char_p, [c_void_p, c_int64]),
    "ferry_model_read_graph": (c_int, [c_void_p, c_void_p, c_char_p, c_char_p, c_void_p, c_void_p]),
    "ferry_model_free": (None, [c_void_p]),
    "ferry_options": (c_void_p, [c_char_p]),
    "ferry_opt_at": (POINTER(ferry_opt), [c_void_p, c_int64]),
    "ferry_opts_new": (c_int, [c_void_p, POINTER(c_void_p)]),
    "ferry_opts_set": (c_int, [c_void_p, c_void_p, c_char_p, c_char_p]),
    "ferry_opts_get": (c_char_p, [c_void_p, c_char_p]),
    "ferry_opts_at": (POINTER(ferry_setting), [c_void_p, c_int64]),
    "ferry_opts_free": (None, [c_void_p]),
    "ferry_opt_range": (c_void_p, [POINTER(ferry_opt)]),
    "ferry_nearest": (c_char_p, [c_char_p, c_int64, POINTER(c_char_p)]),
    "ferry_ranks_launched": (c_int, []),
    "ferry_ranks_join": (c_int, [c_void_p, c_void_p]),
    "ferry_ranks_serve": (c_int, [c_void_p]),
    "ferry_verdict_name": (c_char_p, [c_int]),
    "ferry_results_info": (POINTER(ferry_run_info), [c_void_p]),
    "ferry_results_at": (POINTER(ferry_result), [c_void_p, c_int64]),
    "ferry_results_find": (POINTER(ferry_result), [c_void_p, c_char_p]),
    "ferry_results_answer": (POINTER(ferry_recommendation), [c_void_p]),
    "ferry_result_metric_at": (POINTER(ferry_metric_runs), [POINTER(ferry_result), c_int64]),
    "ferry_result_diagnostic_at": (POINTER(ferry_diagnostic), [POINTER(ferry_result), c_int64]),
    "ferry_result_prediction_at": (POINTER(ferry_repeat_prediction), [POINTER(ferry_result), c_int64]),
    "ferry_results_table": (c_int, [c_void_p, c_void_p, c_char_p, POINTER(c_void_p)]),
    "ferry_results_explain": (c_int, [c_void_p, c_void_p, c_char_p, POINTER(c_void_p)]),
    "ferry_results_save": (c_int, [c_void_p, c_void_p, c_char_p]),
    "ferry_results_load": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "ferry_summary_table": (c_int, [c_void_p, c_int64, POINTER(c_void_p), c_char_p, POINTER(c_void_p)]),
    "ferry_results_free": (None, [c_void_p]),
    "ferry_select": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(c_void_p)]),
    "ferry_selection_at": (POINTER(ferry_way), [c_void_p, c_int64]),
    "ferry_selection_table": (c_int, [c_void_p, c_void_p, c_char_p, POINTER(c_void_p)]),
    "ferry_selection_free": (None, [c_void_p]),
    "ferry_serve_options": (c_void_p, []),
    "ferry_server_start": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "ferry_server_address": (c_char_p, [c_void_p]),
    "ferry_server_reload": (None, [c_void_p]),
    "ferry_server_stop": (c_int, [c_void_p, c_void_p]),
    "ferry_model_see": (c_int, [c_void_p, c_void_p, POINTER(ferry_row), c_void_p, c_void_p, c_void_p]),
    "ferry_model_learn": (c_int, [c_void_p, c_void_p, POINTER(ferry_row), c_char_p, c_void_p]),
    "ferry_model_learn_rows": (c_int, [c_void_p, c_void_p, POINTER(ferry_array), c_int64, POINTER(c_char_p), c_void_p, c_void_p]),
    "ferry_stream_open": (c_int, [c_void_p, c_char_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "ferry_stream_repair": (c_int, [c_void_p, c_char_p, c_char_p, POINTER(ferry_repaired)]),
    "ferry_stream_feed": (c_int, [c_void_p, c_void_p, c_char_p, c_int64, c_void_p]),
    "ferry_stream_due": (c_double, [c_void_p]),
    "ferry_stream_commit": (c_int, [c_void_p, c_void_p, c_int, POINTER(c_char_p), c_void_p]),
    "ferry_stream_seq": (c_int64, [c_void_p]),
    "ferry_stream_close": (c_int, [c_void_p, c_void_p]),
    "ferry_goal_name": (c_char_p, [c_int]),
    "ferry_task_new": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_void_p)]),
    "ferry_task_add_domain": (c_int, [c_void_p, c_void_p, c_void_p]),
    "ferry_task_set_same_as": (c_int, [c_void_p, c_void_p, c_char_p, c_char_p, c_char_p]),
    "ferry_task_add_method": (c_int, [c_void_p, c_void_p, c_char_p, c_char_p, c_void_p]),
    "ferry_task_set_evaluate": (c_int, [c_void_p, c_void_p, c_void_p]),
    "ferry_task_load": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "ferry_task_free": (None, [c_void_p]),
    "ferry_task_name": (c_char_p, [c_void_p]),
    "ferry_task_domain_at": (c_void_p, [c_void_p, c_int64]),
    "ferry_task_method_at": (POINTER(ferry_task_method), [c_void_p, c_int64]),
    "ferry_task_visible": (c_int, [c_void_p, c_void_p, c_int64, POINTER(c_void_p)]),
    "ferry_task_links": (c_int, [c_void_p, c_void_p, c_char_p, POINTER(c_void_p)]),
}
