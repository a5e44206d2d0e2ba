import { z } from 'zod'
import { objectKey } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { parseIp } from '../../model/ip.ts'
import { absentAs, dnsLabel, maxListLength, text } from './schemas.ts'
import { containerSecuritySchema, podSecuritySchema } from './security-context.ts'
import { mountSchema, volumeSchema } from './volumes/volume-spec.ts'

const texts = absentAs(z.array(text).max(maxListLength), [])
const dnsName = z.string().regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, 'expected a DNS name')
const uid = z.string().regex(/^[A-Za-z0-9][-A-Za-z0-9]{0,62}$/, 'expected a uid')
const protocol = z.enum(['TCP', 'UDP', 'SCTP'])
const portOrName = z.union([z.int().min(1).max(65_535), z.string().regex(/^[a-z0-9-]{1,15}$/)])

const address = z.string().transform((value, context) => parseIp(value) ?? refuse(context, 'an IP address'))

function refuse(context: z.RefinementCtx, expected: string): never {
  context.addIssue(`expected ${expected}`)
  return z.NEVER
}

const seconds = (value: number, least = 1) => absentAs(z.int().min(least).max(1_000_000), value)
const headers = absentAs(z.array(z.object({ name: text, value: text })).max(maxListLength), [])

const probeSchema = z
  .object({
    httpGet: z
      .object({
        path: absentAs(text, '/'),
        port: portOrName,
        host: absentAs(text, ''),
        scheme: absentAs(z.enum(['HTTP', 'HTTPS']), 'HTTP'),
        httpHeaders: headers,
      })
      .nullish(),
    tcpSocket: z.object({ port: portOrName, host: absentAs(text, '') }).nullish(),
    exec: z.object({ command: z.array(text).min(1).max(maxListLength) }).nullish(),
    grpc: z.unknown().optional(),
    initialDelaySeconds: seconds(0, 0),
    periodSeconds: seconds(10),
    timeoutSeconds: seconds(1),
    successThreshold: seconds(1),
    failureThreshold: seconds(3),
  })
  .nullish()
  .transform((probe) => probe ?? undefined)

const envEntry = z.object({
  name: z.string().regex(/^[-._A-Za-z][-._A-Za-z0-9]*$/, 'expected the name of a variable'),
  value: absentAs(text, ''),
  valueFrom: z
    .looseObject({ fieldRef: z.object({ fieldPath: z.string() }).nullish() })
    .nullish()
    .transform((from) => from ?? undefined),
})

const quantity = z.union([z.string(), z.number()]).transform(String)

const containerSchema = z.object({
  name: dnsLabel,
  image: absentAs(text, ''),
  command: texts,
  args: texts,
  workingDir: absentAs(text, ''),
  env: absentAs(z.array(envEntry).max(maxListLength), []),
  envFrom: absentAs(z.array(z.unknown()), []),
  ports: absentAs(
    z
      .array(
        z.object({
          name: absentAs(text, ''),
          containerPort: z.int().min(1).max(65_535),
          hostPort: absentAs(z.int().min(0).max(65_535), 0),
          hostIP: absentAs(address.optional(), undefined),
          protocol: absentAs(protocol, 'TCP'),
        }),
      )
      .max(maxListLength),
    [],
  ),
  resources: absentAs(z.object({ limits: absentAs(z.record(z.string(), quantity), {}) }), { limits: {} }),
  /** Set for an init container that is a sidecar. */
  restartPolicy: absentAs(text, ''),
  volumeMounts: absentAs(z.array(mountSchema).max(maxListLength), []),
  volumeDevices: absentAs(z.array(z.unknown()), []),
  securityContext: containerSecuritySchema,
  readinessProbe: probeSchema,
  livenessProbe: probeSchema,
  startupProbe: probeSchema,
})

const dnsConfigSchema = absentAs(
  z.object({
    nameservers: absentAs(z.array(address), []),
    searches: texts,
    options: absentAs(z.array(z.object({ name: text, value: absentAs(text, '') })), []),
  }),
  { nameservers: [], searches: [], options: [] },
)

const podSchema = z.object({
  metadata: z.object({
    name: dnsName,
    namespace: dnsLabel,
    uid,
    labels: absentAs(z.record(z.string(), text), {}),
    annotations: absentAs(z.record(z.string(), text), {}),
    deletionTimestamp: z.string().nullish(),
    deletionGracePeriodSeconds: absentAs(z.int().min(0), 0),
  }),
  spec: z.object({
    nodeName: absentAs(text, ''),
    hostname: absentAs(z.union([dnsLabel, z.literal('')]), ''),
    subdomain: absentAs(text, ''),
    serviceAccountName: absentAs(text, ''),
    hostNetwork: absentAs(z.boolean(), false),
    hostPID: absentAs(z.boolean(), false),
    hostIPC: absentAs(z.boolean(), false),
    shareProcessNamespace: absentAs(z.boolean(), false),
    hostUsers: absentAs(z.boolean(), true),
    restartPolicy: absentAs(z.enum(['Always', 'OnFailure', 'Never']), 'Always'),
    terminationGracePeriodSeconds: absentAs(z.int().min(0), 30),
    securityContext: podSecuritySchema,
    dnsPolicy: absentAs(z.enum(['ClusterFirst', 'Default', 'ClusterFirstWithHostNet', 'None']), 'ClusterFirst'),
    dnsConfig: dnsConfigSchema,
    volumes: absentAs(z.array(volumeSchema).max(maxListLength), []),
    readinessGates: absentAs(z.array(z.object({ conditionType: text })), []),
    initContainers: absentAs(z.array(containerSchema).max(100), []),
    containers: z.array(containerSchema).min(1).max(100),
    ephemeralContainers: absentAs(z.array(z.object({ name: text, image: absentAs(text, '') })).max(100), []),
  }),
  status: absentAs(z.looseObject({}), {}),
})

export type ProbeSpec = NonNullable<z.output<typeof probeSchema>>
export type ContainerSpec = z.output<typeof containerSchema>

/** A parsed Pod of the API. */
export interface PodSpec {
  /** `namespace/name` */
  readonly key: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly spec: z.output<typeof podSchema>['spec']
  /** The time of the deletion request (ms since 1970) and its grace period; undefined without one. */
  readonly deletion: { readonly atMs: number; readonly graceSeconds: number } | undefined
  /** The status in the API, with the fields of other writers. */
  readonly status: Readonly<Record<string, unknown>>
}

export type ParsedPod =
  | { readonly kind: 'pod'; readonly pod: PodSpec }
  /** A mirror pod: another runtime runs it and shows it in the API. */
  | { readonly kind: 'mirror' }
  | { readonly kind: 'unusable'; readonly fault: string }

/** Parses a Pod. An invalid one is `unusable`, with up to five faults. */
export function parsePod(json: unknown, dialect: Dialect): ParsedPod {
  const parsed = podSchema.safeParse(json)
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    return { kind: 'unusable', fault: faults.slice(0, 5).join('; ') }
  }
  const { metadata, spec, status } = parsed.data
  const { namespace, name, labels, annotations, deletionTimestamp, deletionGracePeriodSeconds } = metadata
  if (dialect.annotations.mirrorPod in annotations) return { kind: 'mirror' }
  // `deletionTimestamp` is the end of the grace period.
  const endMs = deletionTimestamp == null ? Number.NaN : Date.parse(deletionTimestamp)
  const deletion = Number.isNaN(endMs)
    ? undefined
    : { atMs: endMs - deletionGracePeriodSeconds * 1000, graceSeconds: deletionGracePeriodSeconds }
  const key = objectKey(namespace, name)
  return {
    kind: 'pod',
    pod: { key, uid: metadata.uid, namespace, name, labels, annotations, spec, deletion, status },
  }
}
