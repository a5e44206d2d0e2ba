import { z } from 'zod'
import { absentAs, dnsLabel, maxListLength, text } from '../schemas.ts'

const mode = z.int().min(0).max(0o777)
const plainMode = 0o644
const isOptional = absentAs(z.boolean(), false)
const keys = absentAs(z.array(z.object({ key: text, path: text, mode: mode.nullish() })).max(maxListLength), [])

const fields = absentAs(
  z
    .array(
      z.object({
        path: text,
        mode: mode.nullish(),
        fieldRef: z.object({ fieldPath: text }).nullish(),
        resourceFieldRef: z.unknown().optional(),
      }),
    )
    .max(maxListLength),
  [],
)

const configMap = z.object({ name: absentAs(text, ''), items: keys, optional: isOptional })
const secret = z.object({ name: absentAs(text, ''), items: keys, optional: isOptional })
const downwardAPI = z.object({ items: fields })
const token = z.object({
  path: text,
  audience: absentAs(text, ''),
  expirationSeconds: absentAs(
    z
      .int()
      .min(1)
      .max(2 ** 32),
    3600,
  ),
})

const sourceSchema = z.looseObject({
  configMap: configMap.nullish(),
  secret: secret.nullish(),
  downwardAPI: downwardAPI.nullish(),
  serviceAccountToken: token.nullish(),
})
const defaultMode = { defaultMode: absentAs(mode, plainMode) }

/** A volume of a Pod. The schema accepts unsupported kinds: only a container that mounts one is refused. */
export const volumeSchema = z
  .looseObject({
    name: dnsLabel,
    configMap: configMap.extend(defaultMode).nullish(),
    secret: secret
      .omit({ name: true })
      .extend({ secretName: absentAs(text, ''), ...defaultMode })
      .nullish(),
    downwardAPI: downwardAPI.extend(defaultMode).nullish(),
    projected: z.object({ sources: absentAs(z.array(sourceSchema).max(maxListLength), []), ...defaultMode }).nullish(),
  })
  .transform(readVolume)

export const mountSchema = z.object({
  name: text,
  mountPath: text,
  readOnly: absentAs(z.boolean(), false),
  subPath: absentAs(text, ''),
  subPathExpr: absentAs(text, ''),
  mountPropagation: absentAs(text, 'None'),
})

type KeyItem = z.output<typeof keys>[number]
type FieldItem = z.output<typeof fields>[number]

/** A source of files in a volume. */
export type FileSource =
  | { readonly kind: 'token'; readonly path: string; readonly audience: string; readonly seconds: number }
  | {
      readonly kind: 'object'
      readonly resource: 'configmaps' | 'secrets'
      readonly name: string
      readonly isOptional: boolean
      /** Empty: each key is a file. */
      readonly items: readonly KeyItem[]
    }
  | { readonly kind: 'fields'; readonly items: readonly FieldItem[] }

/** A volume of files that this node writes and containers read. */
export interface FilesVolume {
  readonly kind: 'files'
  readonly name: string
  readonly defaultMode: number
  readonly sources: readonly FileSource[]
}

export type VolumeSpec =
  | FilesVolume
  /** `what` names the kind that this node does not support. */
  | { readonly kind: 'unsupported'; readonly name: string; readonly what: string }

export type MountSpec = z.output<typeof mountSchema>

interface RawVolume {
  readonly name: string
  readonly configMap?: (z.output<typeof configMap> & { readonly defaultMode: number }) | null | undefined
  readonly secret?:
    | (Omit<z.output<typeof secret>, 'name'> & { readonly secretName: string; readonly defaultMode: number })
    | null
    | undefined
  readonly downwardAPI?: (z.output<typeof downwardAPI> & { readonly defaultMode: number }) | null | undefined
  readonly projected?:
    | { readonly sources: readonly z.output<typeof sourceSchema>[]; readonly defaultMode: number }
    | null
    | undefined
}

function readVolume(raw: RawVolume): VolumeSpec {
  const { name, configMap, secret, downwardAPI, projected } = raw
  const files = (defaultMode: number, sources: readonly FileSource[]): VolumeSpec => {
    const resource = sources.some((source) => source.kind === 'fields' && source.items.some(isOfResource))
    return resource
      ? { kind: 'unsupported', name, what: 'downwardAPI with resourceFieldRef' }
      : { kind: 'files', name, defaultMode, sources }
  }
  if (configMap) return files(configMap.defaultMode, [objectSource('configmaps', configMap)])
  if (secret) return files(secret.defaultMode, [objectSource('secrets', { ...secret, name: secret.secretName })])
  if (downwardAPI) return files(downwardAPI.defaultMode, [{ kind: 'fields', items: downwardAPI.items }])
  const what = Object.entries(raw).find(([kind, value]) => kind !== 'name' && value != null)?.[0] ?? 'emptyDir'
  if (!projected) return { kind: 'unsupported', name, what }
  const sources = projected.sources.map(readSource)
  const foreign = sources.find((source) => typeof source === 'string')
  if (foreign !== undefined) return { kind: 'unsupported', name, what: `projected ${foreign}` }
  return files(
    projected.defaultMode,
    sources.filter((source) => typeof source !== 'string'),
  )
}

/** Returns the name of an unsupported source. */
function readSource(raw: z.output<typeof sourceSchema>): FileSource | string {
  const { configMap, secret, downwardAPI, serviceAccountToken } = raw
  if (configMap) return objectSource('configmaps', configMap)
  if (secret) return objectSource('secrets', secret)
  if (downwardAPI) return { kind: 'fields', items: downwardAPI.items }
  if (!serviceAccountToken) return Object.entries(raw).find(([, value]) => value != null)?.[0] ?? 'without a source'
  const { path, audience, expirationSeconds } = serviceAccountToken
  return { kind: 'token', path, audience, seconds: expirationSeconds }
}

function objectSource(
  resource: 'configmaps' | 'secrets',
  { name, items, optional }: z.output<typeof configMap>,
): FileSource {
  return { kind: 'object', resource, name, isOptional: optional, items }
}

function isOfResource({ fieldRef, resourceFieldRef }: FieldItem): boolean {
  return fieldRef == null && resourceFieldRef != null
}
