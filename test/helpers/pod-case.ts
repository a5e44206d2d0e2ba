/** Pods, each one step away from a valid one, for the API core and kube-apiserver alike. */
export interface PodCase {
  readonly title: string
  /** Laid over the valid spec, field by field. */
  readonly spec?: object
  /** Laid over its one container. */
  readonly container?: object
  readonly name?: string
  readonly annotations?: Readonly<Record<string, string>>
  /** The fields that the answer names, in order; empty where the Pod is taken. */
  readonly errors: readonly string[]
}

const volume = { name: 'data', emptyDir: {} }

export const podCase = (title: string, spec: object, ...errors: string[]): PodCase => ({ title, spec, errors })

/** The Pod of a case: the valid one with what the case lays over it. */
export function podOf({ name = 'web', spec = {}, container = {}, annotations }: PodCase): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...(annotations === undefined ? {} : { annotations }) },
    spec: { containers: [{ name: 'web', image: 'web:1', ...container }], volumes: [volume], ...spec },
  }
}
