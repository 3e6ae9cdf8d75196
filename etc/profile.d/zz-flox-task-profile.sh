# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# /etc/profile.d: a login shell inside a job (bash -l, srun --pty bash -l) runs /etc/profile, which
# sets PATH anew; this puts the task profile's entries back, as spank_cohort.so or the TaskProlog
# told it. The shell's own commands only. Does nothing outside of jobs.
if [ -n "${FLOX_TASK_PATH:-}" ] && [ -n "${SLURM_JOB_ID:-}" ]; then
    _cohort_rest=${PATH:-}: _cohort_kept=
    while [ -n "$_cohort_rest" ]; do
        _cohort_entry=${_cohort_rest%%:*}
        _cohort_rest=${_cohort_rest#*:}
        case ":$FLOX_TASK_PATH::" in
        *":$_cohort_entry:"*) ;;
        *) _cohort_kept=$_cohort_kept${_cohort_kept:+:}$_cohort_entry ;;
        esac
    done
    if [ "${FLOX_TASK_PATH_POLICY:-prepend}" = append ]; then
        PATH=$_cohort_kept${_cohort_kept:+:}$FLOX_TASK_PATH
    else
        PATH=$FLOX_TASK_PATH${_cohort_kept:+:}$_cohort_kept
    fi
    export PATH
    unset _cohort_rest _cohort_kept _cohort_entry
fi
