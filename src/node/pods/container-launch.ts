import type { Dialect } from '../../model/dialect.ts'
import type { Ip } from '../../model/ip.ts'
import { parseQuantity, QuantityError } from '../../model/quantity.ts'
import type { ContainerSpec, PodSpec } from './pod-spec.ts'
import { decideSecurity, refuseSharedNamespaces, type Security } from './security-context.ts'
import { type Mount, planMounts } from './volumes/plan-mounts.ts'

export interface Limits {
  /** Thousandths of a CPU. */
  readonly cpuMillis?: number
  readonly memoryBytes?: number
}

/** The complete plan of a container's start. */
export interface Launch {
  /** The program and its arguments. */
  readonly command: readonly string[]
  /** Used by an engine alone. */
  readonly image: string
  readonly env: readonly (readonly [name: string, value: string])[]
  /** Empty for the root. */
  readonly workingDir: string
  readonly security: Security
  readonly limits: Limits
  /** The volumes of the pod with their paths in the container. */
  readonly mounts: readonly Mount[]
  /** The folder that becomes the container's root; undefined for a new root with the host's programs. */
  readonly rootFilesystem: string | undefined
}

/** The reason why this node cannot run a container. */
export interface Refusal {
  /** CamelCase, the format of reasons in container states. */
  readonly reason: string
  readonly message: string
}

export type LaunchDecision =
  | { readonly kind: 'launch'; readonly launch: Launch }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

/** The facts beside the Pod that decide a launch. */
export interface PodFacts {
  readonly nodeName: string
  readonly hostIp: Ip
  readonly podIps: readonly Ip[]
  /** The Service of the API server for the environment; undefined if the environment must not have it. */
  readonly apiService: ApiService | undefined
  /** Containers run from the images of an engine. */
  readonly runsImages: boolean
  /** The folder whose own folders may be root filesystems; undefined if none may. */
  readonly rootFilesystems: string | undefined
}

/** The Service `kubernetes`, whose address clients in a container read from the environment. */
export interface ApiService {
  readonly ip: Ip
  readonly port: number
}

const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Plans how a container runs on this node, or why it cannot. Pure. */
export function planLaunch(pod: PodSpec, container: ContainerSpec, facts: PodFacts, dialect: Dialect): LaunchDecision {
  const { rootFilesystem } = dialect.annotations
  const root = pod.annotations[rootFilesystem]
  const refuse = (reason: string, message: string): LaunchDecision => ({
    kind: 'refused',
    refusal: { reason, message },
  })
  if (container.command.length === 0 && !(facts.runsImages && container.image !== '')) {
    const image =
      container.image === ''
        ? 'the container has no image'
        : `the image ${JSON.stringify(container.image)} is not fetched`
    const message = `this node runs containers as processes, and ${image}: give the container a command (and a root filesystem by the annotation ${rootFilesystem}), or run the pod on a node with a kubelet`
    return refuse('ImageNotSupported', message)
  }
  const rootFault = root === undefined ? undefined : findRootFault(root, facts)
  if (rootFault !== undefined)
    return refuse('InvalidRootFilesystem', `the annotation ${rootFilesystem} is ${JSON.stringify(root)}: ${rootFault}`)
  const fault = findUnsupported(container)
  if (fault !== undefined) return refuse('CreateContainerConfigError', fault)
  try {
    return { kind: 'launch', launch: describeLaunch(pod, container, facts, root) }
  } catch (thrown) {
    if (thrown instanceof QuantityError || thrown instanceof TypeError)
      return refuse('CreateContainerConfigError', thrown.message)
    throw thrown
  }
}

function describeLaunch(pod: PodSpec, container: ContainerSpec, facts: PodFacts, root: string | undefined): Launch {
  const env = describeEnvironment(pod, container, facts)
  const values = new Map(env)
  const command = [...container.command, ...container.args].map((word) => expandReferences(word, values))
  refuseSharedNamespaces(pod.spec)
  return {
    command,
    image: container.image,
    env,
    workingDir: container.workingDir,
    security: decideSecurity(pod.spec.securityContext, container.securityContext, facts.runsImages),
    limits: readLimits(container.resources.limits),
    mounts: planMounts(pod.spec, container.volumeMounts),
    rootFilesystem: root,
  }
}

/** Returns why the root is not a direct child of the operator's folder. On the path to a child nothing is writable for pods. */
function findRootFault(root: string, { runsImages, rootFilesystems }: PodFacts): string | undefined {
  if (runsImages) return 'a container of an engine has the root filesystem of its image'
  if (rootFilesystems === undefined) return 'this node allows no root filesystems (--pod-root-filesystems)'
  const name = root.startsWith(`${rootFilesystems}/`) ? root.slice(rootFilesystems.length + 1) : ''
  return /^(?!\.{1,2}$)[^/]+$/.test(name) ? undefined : `expected a folder directly in ${rootFilesystems}`
}

function findUnsupported(container: ContainerSpec): string | undefined {
  const { envFrom, env, volumeDevices, restartPolicy, readinessProbe, livenessProbe, startupProbe } = container
  if ([readinessProbe, livenessProbe, startupProbe].some((probe) => probe?.grpc)) return 'grpc probes are not supported'
  if (restartPolicy !== '')
    return 'restartPolicy of a single container is not supported: an init container that does not end (a sidecar) would block the pod'
  if (volumeDevices.length > 0) return 'volumeDevices are not supported: a container has no block devices'
  if (envFrom.length > 0) return 'envFrom is not supported: write the variables as env'
  const foreign = env.find(({ valueFrom }) => valueFrom !== undefined && !valueFrom.fieldRef)
  return foreign && `env ${foreign.name}: only values and fieldRef are supported`
}

/** Merges the container's variables over those that every container has. A name that occurs twice has its last value. */
function describeEnvironment(pod: PodSpec, container: ContainerSpec, facts: PodFacts): (readonly [string, string])[] {
  const values = new Map([
    ['PATH', defaultPath],
    ['HOSTNAME', hostnameOf(pod)],
    ['HOME', '/root'],
    ...apiVariables(facts.apiService),
  ])
  for (const { name, value, valueFrom } of container.env) {
    const path = valueFrom?.fieldRef?.fieldPath
    values.set(name, path === undefined ? expandReferences(value, values) : readField(pod, facts, path))
  }
  return [...values]
}

function apiVariables(service: ApiService | undefined): (readonly [string, string])[] {
  if (service === undefined) return []
  const port = String(service.port)
  return [
    ['KUBERNETES_SERVICE_HOST', service.ip],
    ['KUBERNETES_SERVICE_PORT', port],
    ['KUBERNETES_SERVICE_PORT_HTTPS', port],
  ]
}

/** Returns the host name in the pod: at most 63 characters, the limit of Linux. */
export function hostnameOf({ name, spec }: PodSpec): string {
  return spec.hostname === '' ? name.slice(0, 63).replace(/[-.]+$/, '') : spec.hostname
}

/** Expands `$(NAME)` to the variable's value and `$$(NAME)` to `$(NAME)`; an unknown name stays unchanged. */
export function expandReferences(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\$(\$|\(([-._A-Za-z0-9]+)\))/g, (whole, _, name: string | undefined) =>
    name === undefined ? '$' : (values.get(name) ?? whole),
  )
}

function readField(pod: PodSpec, facts: PodFacts, path: string): string {
  const known: Readonly<Record<string, string>> = {
    'metadata.name': pod.name,
    'metadata.namespace': pod.namespace,
    'metadata.uid': pod.uid,
    'spec.nodeName': facts.nodeName,
    'spec.serviceAccountName': pod.spec.serviceAccountName,
    'status.hostIP': facts.hostIp,
    'status.podIP': facts.podIps[0] ?? '',
    'status.podIPs': facts.podIps.join(','),
  }
  const [, map, key] = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path) ?? []
  const value = map === undefined ? known[path] : (map === 'labels' ? pod.labels : pod.annotations)[key ?? '']
  if (value === undefined && map === undefined) throw new TypeError(`fieldRef ${JSON.stringify(path)} is not supported`)
  return value ?? ''
}

function readLimits(limits: Readonly<Record<string, string>>): Limits {
  const { cpu, memory } = limits
  return {
    ...(cpu === undefined ? {} : { cpuMillis: Number(parseQuantity(cpu)) }),
    ...(memory === undefined ? {} : { memoryBytes: Math.ceil(Number(parseQuantity(memory)) / 1000) }),
  }
}
