import { z } from 'zod'

/** The user and the rights of a container's processes. */
export interface Security {
  /** Undefined for root, and in an engine for the user of the image. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined
  /** The supplementary groups. */
  readonly groups: readonly number[]
  /** Without the prefix `CAP_`: the capabilities of root processes and the bounding set of all. */
  readonly capabilities: readonly CapabilityName[]
  readonly noNewPrivileges: boolean
  readonly isRootReadOnly: boolean
}

/** The numbers in linux/capability.h of the capabilities that a container can request. */
export const capabilityNumbers = {
  CHOWN: 0,
  DAC_OVERRIDE: 1,
  FOWNER: 3,
  FSETID: 4,
  KILL: 5,
  SETGID: 6,
  SETUID: 7,
  SETPCAP: 8,
  NET_BIND_SERVICE: 10,
  NET_RAW: 13,
  SYS_CHROOT: 18,
  AUDIT_WRITE: 29,
  SETFCAP: 31,
} as const

type CapabilityName = keyof typeof capabilityNumbers

/** The capabilities of a container without a request: those of CRI-O, which are fewer than containerd's. */
const defaultCapabilities: readonly CapabilityName[] = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'SETGID',
  'SETUID',
  'SETPCAP',
  'NET_BIND_SERVICE',
]

const id = z
  .int()
  .min(0)
  .max(2 ** 31 - 1)
const profile = z.looseObject({ type: z.string().nullish() })
const names = z.array(z.string()).max(100)

/** The fields of both a Pod and a container. The schemas keep unknown fields, so that they are refused by name. */
const sharedFields = {
  runAsUser: id.nullish(),
  runAsGroup: id.nullish(),
  runAsNonRoot: z.boolean().nullish(),
  seccompProfile: profile.nullish(),
  appArmorProfile: profile.nullish(),
  seLinuxOptions: z.looseObject({}).nullish(),
  windowsOptions: z.looseObject({}).nullish(),
}

const podFields = {
  ...sharedFields,
  fsGroup: id.nullish(),
  fsGroupChangePolicy: z.string().nullish(),
  supplementalGroups: z.array(id).max(1000).nullish(),
  supplementalGroupsPolicy: z.string().nullish(),
  seLinuxChangePolicy: z.string().nullish(),
  sysctls: z.array(z.looseObject({ name: z.string() })).nullish(),
}

const containerFields = {
  ...sharedFields,
  capabilities: z.object({ add: names.nullish(), drop: names.nullish() }).nullish(),
  privileged: z.boolean().nullish(),
  allowPrivilegeEscalation: z.boolean().nullish(),
  procMount: z.string().nullish(),
  readOnlyRootFilesystem: z.boolean().nullish(),
}

const podFieldsSchema = z.looseObject(podFields)
const containerFieldsSchema = z.looseObject(containerFields)
export const podSecuritySchema = podFieldsSchema.nullish().transform((context) => context ?? {})
export const containerSecuritySchema = containerFieldsSchema.nullish().transform((context) => context ?? {})

type PodSecurity = Partial<z.output<typeof podFieldsSchema>>
type ContainerSecurity = Partial<z.output<typeof containerFieldsSchema>>

/** The fields of a Pod's spec that share namespaces of the host or change its users. */
export interface SharedNamespaces {
  readonly hostPID: boolean
  readonly hostIPC: boolean
  readonly shareProcessNamespace: boolean
  readonly hostUsers: boolean
}

/**
 * Decides the security of a container; its own fields override those of its pod, as in Kubernetes. `hasImage` means that an engine runs it,
 * with the user of the image. Throws TypeError with the field and the reason if this node cannot honour it. Pure.
 */
export function decideSecurity(pod: PodSecurity, container: ContainerSecurity, hasImage: boolean): Security {
  refuseUnknown('securityContext of the pod', pod, podFields)
  refuseUnknown('securityContext', container, containerFields)
  refuseForPod(pod)
  refuseForContainer(pod, container)
  return {
    user: decideUser(pod, container, hasImage),
    groups: [...new Set([...(pod.fsGroup == null ? [] : [pod.fsGroup]), ...(pod.supplementalGroups ?? [])])],
    capabilities: decideCapabilities(container),
    noNewPrivileges: container.allowPrivilegeEscalation !== true,
    isRootReadOnly: container.readOnlyRootFilesystem === true,
  }
}

/** Throws TypeError if a pod requests the host's namespaces, a shared process namespace or a user namespace. */
export function refuseSharedNamespaces(spec: SharedNamespaces): void {
  const asked = (['hostPID', 'hostIPC', 'shareProcessNamespace'] as const).find((field) => spec[field])
  if (asked !== undefined) throw refusal(asked, 'each container has its own process and IPC namespaces')
  if (!spec.hostUsers) throw refusal('hostUsers: false', 'containers use the users of the host')
}

function refusal(field: string, why: string): TypeError {
  return new TypeError(`${field} is not supported: ${why}`)
}

function refuseUnknown(where: string, context: object, known: object): void {
  const unknown = Object.entries(context).find(([field, value]) => value != null && !Object.hasOwn(known, field))
  if (unknown !== undefined) throw refusal(`${where}: ${unknown[0]}`, 'this node does not know the field')
}

function refuseForPod({ sysctls, supplementalGroupsPolicy, seLinuxChangePolicy }: PodSecurity): void {
  const [sysctl] = sysctls ?? []
  if (sysctl !== undefined) throw refusal(`sysctls ${sysctl.name}`, 'pods keep the settings of a new namespace')
  if (supplementalGroupsPolicy != null && supplementalGroupsPolicy !== 'Strict')
    throw refusal(
      `supplementalGroupsPolicy ${supplementalGroupsPolicy}`,
      'only Strict is supported, so groups of /etc/group are not added',
    )
  if (seLinuxChangePolicy != null) throw refusal('seLinuxChangePolicy', 'containers get no SELinux label')
}

function refuseForContainer(pod: PodSecurity, container: ContainerSecurity): void {
  const { privileged, procMount } = container
  const { seLinuxOptions, windowsOptions, seccompProfile, appArmorProfile } = { ...pod, ...definedOf(container) }
  if (privileged === true) throw refusal('privileged', 'a container has no rights over the host')
  if (procMount != null && procMount !== 'Default')
    throw refusal(`procMount ${procMount}`, 'the parts of /proc that show the host are hidden')
  if (Object.values(seLinuxOptions ?? {}).some((value) => value != null && value !== ''))
    throw refusal('seLinuxOptions', 'containers get no SELinux label')
  if (windowsOptions != null) throw refusal('windowsOptions', 'this node runs Linux')
  const seccomp = seccompProfile?.type ?? 'RuntimeDefault'
  if (seccomp !== 'RuntimeDefault')
    throw refusal(`seccompProfile ${seccomp}`, 'every container has the filter RuntimeDefault')
  const appArmor = appArmorProfile?.type ?? 'Unconfined'
  if (appArmor !== 'Unconfined') throw refusal(`appArmorProfile ${appArmor}`, 'this node has no AppArmor profiles')
}

function decideUser(pod: PodSecurity, container: ContainerSecurity, hasImage: boolean): Security['user'] {
  const { runAsUser, runAsGroup, runAsNonRoot } = { ...pod, ...definedOf(container) }
  if (runAsNonRoot === true && runAsUser === 0)
    throw new TypeError("container's runAsUser breaks non-root policy: runAsNonRoot is set and runAsUser is 0")
  if (runAsNonRoot === true && runAsUser == null)
    throw new TypeError('container has runAsNonRoot and would run as root: set runAsUser')
  if (runAsUser == null && runAsGroup == null) return undefined
  if (runAsUser == null && hasImage)
    throw new TypeError('runAsGroup is set without runAsUser, and the user of the image is unknown: set runAsUser')
  return { uid: runAsUser ?? 0, gid: runAsGroup ?? 0 }
}

function decideCapabilities({ capabilities }: ContainerSecurity): readonly CapabilityName[] {
  const dropped = new Set((capabilities?.drop ?? []).map(plainName))
  const added = (capabilities?.add ?? []).map(plainName)
  const held = new Set<CapabilityName>(dropped.has('ALL') ? [] : defaultCapabilities)
  for (const name of added) {
    if (!isAddable(name))
      throw refusal(`capabilities.add ${name}`, `supported are ${Object.keys(capabilityNumbers).join(', ')}`)
    held.add(name)
  }
  return [...held].filter((name) => !dropped.has(name))
}

function isAddable(name: string): name is CapabilityName {
  return Object.hasOwn(capabilityNumbers, name)
}

function plainName(name: string): string {
  return name.toUpperCase().replace(/^CAP_/, '')
}

function definedOf<T extends object>(record: T): Partial<T> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value != null)) as Partial<T>
}
