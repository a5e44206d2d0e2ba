import { z } from 'zod'
import { optional, texts } from '../runtime/metadata.ts'
import { listOf } from './parts.ts'

const template = z.object({
  metadata: optional(z.object({ labels: texts, annotations: texts })),
  spec: z.looseObject({}),
})

/** A volume of a pod that has a claim: one that exists, or one that a controller makes for the pod alone. */
export interface ClaimedVolume {
  readonly name: string
  /** The name of the claim; absent for an ephemeral volume, whose claim is named by pod and volume. */
  readonly claimName?: string
  readonly template?: z.output<typeof template>
}

const volume = z.object({
  name: z.string(),
  persistentVolumeClaim: optional(z.object({ claimName: z.string() })),
  ephemeral: optional(z.object({ volumeClaimTemplate: template })),
})

/** The volumes of a pod's spec; only those with a claim are kept. */
export const claimedVolumes = listOf(z.unknown()).transform((list): readonly ClaimedVolume[] => {
  const claimed = list.flatMap((item): ClaimedVolume[] => {
    if (!mayHaveClaim(item)) return []
    const { data } = volume.safeParse(item)
    if (data?.persistentVolumeClaim) return [{ name: data.name, claimName: data.persistentVolumeClaim.claimName }]
    return data?.ephemeral ? [{ name: data.name, template: data.ephemeral.volumeClaimTemplate }] : []
  })
  return claimed.length === 0 ? none : claimed
})

const none: readonly ClaimedVolume[] = []

function mayHaveClaim(item: unknown): boolean {
  return typeof item === 'object' && item !== null && ('persistentVolumeClaim' in item || 'ephemeral' in item)
}

interface PodWithClaims {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
  readonly spec: { readonly volumes: readonly ClaimedVolume[] }
}

/** Returns the name of the claim of a volume. */
export function claimNameOf(pod: PodWithClaims, { name, claimName }: ClaimedVolume): string {
  return claimName ?? `${pod.metadata.name}-${name}`
}

/** Returns the keys of the claims that a pod uses: `namespace/name`. */
export function claimKeysOf(pod: PodWithClaims): readonly string[] {
  const { volumes } = pod.spec
  return volumes.length === 0 ? noKeys : volumes.map((each) => `${pod.metadata.namespace}/${claimNameOf(pod, each)}`)
}

const noKeys: readonly string[] = []
