/** An evaluation that cannot go on, in the words of Kubernetes where there are any. */
export class CelFailure extends Error {}
