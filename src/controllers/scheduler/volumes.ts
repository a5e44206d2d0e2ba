import { z } from 'zod'
import type { VolumeNames } from '../../model/volume-names.ts'
import type { Node } from '../objects/node.ts'
import type { Pod } from '../objects/pod.ts'
import { claimKeysOf, claimNameOf } from '../objects/pod-claims.ts'
import { volumeClaimType, volumeType } from '../objects/types.ts'
import type { StorageClass, Volume, VolumeClaim } from '../objects/volume.ts'
import { nameOf, type Write } from '../objects/writes.ts'
import { classOf, findVolume, isFor } from '../volumes/match.ts'
import { matchesTerm } from './node-fit.ts'
import { type NodeTerm, nodeTerms } from './requirements.ts'

/** The volumes, claims and classes of one pass of the scheduler. */
export interface VolumeSources {
  readonly findClaim: (key: string) => VolumeClaim | undefined
  readonly findVolume: (name: string) => Volume | undefined
  readonly volumes: () => Iterable<Volume>
  readonly findClass: (name: string) => StorageClass | undefined
  /** The pods that use a claim. */
  readonly usersOf: (claimKey: string) => readonly Pod[]
  readonly names: VolumeNames
}

/** The nodes that the claims of a pod allow. */
export interface PodVolumes {
  /** The reason why no node can run the pod; undefined where a node may. */
  readonly refusal: string | undefined
  /** The reasons against a node; empty where it can reach all volumes. */
  readonly reasonsAgainst: (node: Node) => readonly string[]
  /**
   * Returns what must be written before the pod can be bound to a node: which volumes its claims get, or where they
   * are to be made. Undefined: all claims are bound. Empty: it was written, and the binder has not finished.
   */
  readonly bindingsOn: (node: Node) => readonly Write[] | undefined
}

/** Finds out where the volumes of pods are. The volumes that it gives to claims are taken for the rest of the pass. */
export class VolumePlanner {
  readonly #sources: VolumeSources
  readonly #taken = new Set<string>()

  constructor(sources: VolumeSources) {
    this.#sources = sources
  }

  /** Returns undefined for a pod without claims. */
  of(pod: Pod): PodVolumes | undefined {
    const keys = claimKeysOf(pod)
    if (keys.length === 0) return undefined
    const claims = keys.map((key) => this.#sources.findClaim(key))
    const refusal = this.#refusalOf(pod, claims)
    const known = claims.filter((claim) => claim !== undefined)
    const bound = known.filter((claim) => this.#isBound(claim))
    const open = known.filter((claim) => !this.#isBound(claim))
    return {
      refusal,
      reasonsAgainst: (node) => this.#reasons(bound, open, node),
      bindingsOn: (node) => (open.length === 0 ? undefined : this.#bind(open, node)),
    }
  }

  #isBound({ metadata, spec }: VolumeClaim): boolean {
    return spec.volumeName !== '' && metadata.annotations[this.#sources.names.bindCompleted] !== undefined
  }

  #refusalOf(pod: Pod, claims: readonly (VolumeClaim | undefined)[]): string | undefined {
    for (const [index, volume] of pod.spec.volumes.entries()) {
      const why = this.#refusalOfClaim(pod, claims[index], claimNameOf(pod, volume))
      if (why !== undefined) return why
    }
    const isUnbound = claims.some((claim) => claim && !this.#isBound(claim) && !this.#waitsForPod(claim))
    return isUnbound ? 'pod has unbound immediate PersistentVolumeClaims' : undefined
  }

  #refusalOfClaim(pod: Pod, claim: VolumeClaim | undefined, name: string): string | undefined {
    if (claim === undefined) return `persistentvolumeclaim "${name}" not found`
    if (claim.metadata.deletionTimestamp !== undefined) return `persistentvolumeclaim "${name}" is being deleted`
    if (claim.status.phase === 'Lost')
      return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName}"`
    if (!claim.spec.accessModes.includes('ReadWriteOncePod')) return undefined
    const others = this.#sources.usersOf(`${claim.metadata.namespace}/${name}`)
    const isTaken = others.some(({ metadata, spec }) => spec.nodeName && metadata.uid !== pod.metadata.uid)
    return isTaken
      ? 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'
      : undefined
  }

  #classOf(claim: VolumeClaim): StorageClass | undefined {
    return this.#sources.findClass(classOf(claim, this.#sources.names.storageClass))
  }

  #waitsForPod(claim: VolumeClaim): boolean {
    return claim.spec.volumeName === '' && this.#classOf(claim)?.volumeBindingMode === 'WaitForFirstConsumer'
  }

  #reasons(bound: readonly VolumeClaim[], open: readonly VolumeClaim[], node: Node): readonly string[] {
    const volumes = bound.map(({ spec }) => this.#sources.findVolume(spec.volumeName))
    if (volumes.includes(undefined))
      return ['node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)']
    if (!volumes.every((volume) => volume && isReachable(volume, node)))
      return ["node(s) didn't match PersistentVolume's node affinity"]
    const taken = new Set(this.#taken)
    return open.every((claim) => this.#placeOf(claim, node, taken) !== undefined)
      ? []
      : ["node(s) didn't find available persistent volumes to bind"]
  }

  /** Returns the volume of an open claim on a node, or `made` where a provisioner can make one there. */
  #placeOf(claim: VolumeClaim, node: Node, taken: Set<string>): Volume | 'made' | undefined {
    const { names, volumes } = this.#sources
    const selected = claim.metadata.annotations[names.selectedNode]
    if (selected !== undefined) return selected === node.metadata.name ? 'made' : undefined
    const found = findVolume(claim, volumes(), {
      annotation: names.storageClass,
      waits: false,
      isReachable: (volume) => isReachable(volume, node),
      taken,
    })
    if (found !== undefined) {
      taken.add(found.metadata.name)
      return found
    }
    return this.#canBeMade(claim, node) ? 'made' : undefined
  }

  #canBeMade(claim: VolumeClaim, node: Node): boolean {
    const storageClass = this.#classOf(claim)
    if (storageClass === undefined || storageClass.provisioner === this.#sources.names.noProvisioner) return false
    const { allowedTopologies: terms } = storageClass
    const { labels } = node.metadata
    return (
      terms.length === 0 ||
      terms.some(({ matchLabelExpressions }) =>
        matchLabelExpressions.every(({ key, values }) => values.includes(labels[key] ?? '')),
      )
    )
  }

  #bind(open: readonly VolumeClaim[], node: Node): readonly Write[] {
    return open.flatMap((claim) => {
      const place = this.#placeOf(claim, node, this.#taken)
      if (place === undefined) return []
      return place === 'made' ? this.#selectNode(claim, node) : this.#giveVolume(claim, place)
    })
  }

  #selectNode(claim: VolumeClaim, node: Node): readonly Write[] {
    const { selectedNode } = this.#sources.names
    if (claim.metadata.annotations[selectedNode] !== undefined) return []
    const { uid, resourceVersion } = claim.metadata
    const patch = { metadata: { uid, resourceVersion, annotations: { [selectedNode]: node.metadata.name } } }
    return [{ verb: 'patch', target: nameOf(volumeClaimType.resource, claim), patch }]
  }

  #giveVolume(claim: VolumeClaim, volume: Volume): readonly Write[] {
    const { uid, name, namespace = '', resourceVersion } = claim.metadata
    if (volume.spec.claimRef?.uid === uid) return []
    const mark = isFor(volume, claim) ? {} : { annotations: { [this.#sources.names.boundByController]: 'yes' } }
    const claimRef = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name, uid, resourceVersion }
    const metadata = { ...mark, uid: volume.metadata.uid, resourceVersion: volume.metadata.resourceVersion }
    return [{ verb: 'patch', target: nameOf(volumeType.resource, volume), patch: { metadata, spec: { claimRef } } }]
  }
}

const affinitySchema = z.object({ required: z.object({ nodeSelectorTerms: nodeTerms }) })
const affinities = new WeakMap<Volume, readonly NodeTerm[] | 'anywhere'>()

/** Checks the node affinity of a volume. One that cannot be read keeps the volume from every node. */
function isReachable(volume: Volume, node: Node): boolean {
  const known = affinities.get(volume) ?? readAffinity(volume)
  affinities.set(volume, known)
  return known === 'anywhere' || known.some((term) => matchesTerm(term, node))
}

function readAffinity({ spec }: Volume): readonly NodeTerm[] | 'anywhere' {
  if (spec.nodeAffinity === undefined || spec.nodeAffinity === null) return 'anywhere'
  return affinitySchema.safeParse(spec.nodeAffinity).data?.required.nodeSelectorTerms ?? []
}
