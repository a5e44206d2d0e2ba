/** How a dialect spells the labels, annotations and finalizer of Jobs and their Pods. */
export interface JobNames {
  /** Labels of the Pods of a Job: its name, and its uid. */
  readonly jobName: string
  readonly controllerUid: string
  /** Label and annotation of a Pod of an Indexed Job: its index. */
  readonly completionIndex: string
  /** Annotations of such a Pod: how often its index has failed, counted and ignored. */
  readonly indexFailureCount: string
  readonly indexIgnoredFailureCount: string
  /** Finalizer of a Pod until its Job has counted it. */
  readonly trackingFinalizer: string
  /** Annotation of a Job of a CronJob: the time for which it was made. */
  readonly scheduledTimestamp: string
  /** The value of `spec.managedBy` of a Job that names the built-in controller. */
  readonly controllerName: string
}

export function jobNames(prefix: string, domain: string): JobNames {
  return {
    jobName: `${prefix}/job-name`,
    controllerUid: `${prefix}/controller-uid`,
    completionIndex: `${prefix}/job-completion-index`,
    indexFailureCount: `${prefix}/job-index-failure-count`,
    indexIgnoredFailureCount: `${prefix}/job-index-ignored-failure-count`,
    trackingFinalizer: `${prefix}/job-tracking`,
    scheduledTimestamp: `${prefix}/cronjob-scheduled-timestamp`,
    controllerName: `${domain}/job-controller`,
  }
}
