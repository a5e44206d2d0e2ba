import { z } from 'zod'
import type { VolumeNames } from '../../model/volume-names.ts'
import { isOwnedBy } from '../objects/claim.ts'
import type { Node } from '../objects/node.ts'
import { isFinished, type Pod } from '../objects/pod.ts'
import { type ClaimedVolume, claimKeysOf, claimNameOf } from '../objects/pod-claims.ts'
import type { StorageClass, Volume, VolumeClaim } from '../objects/volume.ts'
import type { Write } from '../objects/writes.ts'
import { classOf, compareVolumes, isFreeFor, isKept } from '../volumes/match.ts'
import { claimRefWrites, patchOf } from '../volumes/plan-claim.ts'
import { matchesTerm } from './node-fit.ts'
import { type NodeTerm, nodeTerms } from './requirements.ts'

/** The volumes, claims and classes of one pass of the scheduler. */
export interface VolumeSources {
  readonly findClaim: (key: string) => VolumeClaim | undefined
  readonly findVolume: (name: string) => Volume | undefined
  /** The volumes that name a claim. */
  readonly keptFor: (claim: VolumeClaim) => readonly Volume[]
  /** The volumes of a class that name no claim. */
  readonly freeOf: (className: string) => readonly Volume[]
  readonly findClass: (name: string) => StorageClass | undefined
  /** The pods that use a claim and have a node, also where the cache does not show it yet. */
  readonly usersOf: (claimKey: string) => readonly Pod[]
  readonly names: VolumeNames
}

type Candidates = (claim: VolumeClaim) => readonly Volume[]

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

const noVolumes: ReadonlySet<string> = new Set()

/**
 * Finds out where the volumes of pods are. What it gives to a claim holds for the rest of the pass: no other claim gets
 * the volume, and other pods of the claim go where that volume is.
 */
export class VolumePlanner {
  readonly #sources: VolumeSources
  readonly #taken = new Set<string>()
  /** The volume of each claim by its uid, or the name of the node on which a provisioner makes it. */
  readonly #given = new Map<string, Volume | string>()
  /** The free volumes of each class, the best first. */
  readonly #sorted = new Map<string, readonly Volume[]>()

  constructor(sources: VolumeSources) {
    this.#sources = sources
  }

  /** Returns undefined for a pod without claims. */
  of(pod: Pod): PodVolumes | undefined {
    const keys = claimKeysOf(pod)
    if (keys.length === 0) return undefined
    const claims = keys.map((key) => this.#sources.findClaim(key))
    const refusal = this.#refusalOf(pod, claims)
    // Two volumes of a pod may have one claim.
    const known = [...new Set(claims)].filter((claim) => claim !== undefined)
    const bound = known.filter((claim) => this.#isBound(claim))
    const open = known.filter((claim) => !this.#isBound(claim))
    const candidates = new Map<VolumeClaim, readonly Volume[]>()
    const candidatesOf: Candidates = (claim) => {
      const found = candidates.get(claim) ?? this.#candidatesOf(claim)
      candidates.set(claim, found)
      return found
    }
    return {
      refusal,
      reasonsAgainst: (node) => this.#reasons(bound, open, node, candidatesOf),
      bindingsOn: (node) => (open.length === 0 ? undefined : this.#bind(open, node, candidatesOf)),
    }
  }

  /** Returns the volumes that a claim may get, the best first: the one that names it alone, where there is one. */
  #candidatesOf(claim: VolumeClaim): readonly Volume[] {
    const { keptFor, freeOf, names } = this.#sources
    const kept = keptFor(claim).find((volume) => isKept(volume, claim))
    if (kept !== undefined) return [kept]
    const className = classOf(claim, names.storageClass)
    const sorted = this.#sorted.get(className) ?? freeOf(className).toSorted(compareVolumes)
    this.#sorted.set(className, sorted)
    return sorted.filter(
      (volume) => !this.#taken.has(volume.metadata.name) && isFreeFor(volume, claim, names.storageClass),
    )
  }

  #isBound({ metadata, spec }: VolumeClaim): boolean {
    return spec.volumeName !== '' && metadata.annotations[this.#sources.names.bindCompleted] !== undefined
  }

  #refusalOf(pod: Pod, claims: readonly (VolumeClaim | undefined)[]): string | undefined {
    for (const [index, volume] of pod.spec.volumes.entries()) {
      const why = this.#refusalOfClaim(pod, claims[index], volume)
      if (why !== undefined) return why
    }
    const isUnbound = claims.some((claim) => claim && !this.#isBound(claim) && !this.#waitsForPod(claim))
    return isUnbound ? 'pod has unbound immediate PersistentVolumeClaims' : undefined
  }

  #refusalOfClaim(pod: Pod, claim: VolumeClaim | undefined, volume: ClaimedVolume): string | undefined {
    const name = claimNameOf(pod, volume)
    if (claim === undefined && volume.template !== undefined)
      return `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
    if (claim === undefined) return `persistentvolumeclaim "${name}" not found`
    if (claim.metadata.deletionTimestamp !== undefined) return `persistentvolumeclaim "${name}" is being deleted`
    // Another claim may have the name.
    if (volume.template !== undefined && !isOwnedBy(claim, pod))
      return `persistentvolumeclaim "${name}" was not created for the pod (pod is not owner)`
    if (claim.status.phase === 'Lost')
      return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName}"`
    if (!claim.spec.accessModes.includes('ReadWriteOncePod')) return undefined
    const others = this.#sources.usersOf(`${claim.metadata.namespace}/${name}`)
    return others.some((other) => other.metadata.uid !== pod.metadata.uid && !isFinished(other))
      ? 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'
      : undefined
  }

  #classOf(claim: VolumeClaim): StorageClass | undefined {
    return this.#sources.findClass(classOf(claim, this.#sources.names.storageClass))
  }

  #waitsForPod(claim: VolumeClaim): boolean {
    return claim.spec.volumeName === '' && this.#classOf(claim)?.volumeBindingMode === 'WaitForFirstConsumer'
  }

  #reasons(
    bound: readonly VolumeClaim[],
    open: readonly VolumeClaim[],
    node: Node,
    candidatesOf: Candidates,
  ): readonly string[] {
    const volumes = bound.map(({ spec }) => this.#sources.findVolume(spec.volumeName))
    if (volumes.includes(undefined))
      return ['node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)']
    if (!volumes.every((volume) => volume && isReachable(volume, node)))
      return ["node(s) didn't match PersistentVolume's node affinity"]
    const own = new Set<string>()
    for (const claim of open) {
      const place = this.#placeOf(claim, node, candidatesOf, own)
      if (place === undefined) return ["node(s) didn't find available persistent volumes to bind"]
      if (place !== 'made') own.add(place.metadata.name)
    }
    return []
  }

  /**
   * Returns the volume of an open claim on a node, or `made` where a provisioner can make one there. `own` has the
   * volumes of the other claims of the pod.
   */
  #placeOf(
    claim: VolumeClaim,
    node: Node,
    candidatesOf: Candidates,
    own: ReadonlySet<string>,
  ): Volume | 'made' | undefined {
    const given = this.#given.get(claim.metadata.uid) ?? claim.metadata.annotations[this.#sources.names.selectedNode]
    if (typeof given === 'string') return given === node.metadata.name ? 'made' : undefined
    if (given !== undefined) return isReachable(given, node) ? given : undefined
    const found = candidatesOf(claim).find((volume) => {
      const { name } = volume.metadata
      return !this.#taken.has(name) && !own.has(name) && isReachable(volume, node)
    })
    return found ?? (this.#canBeMade(claim, node) ? 'made' : undefined)
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

  #bind(open: readonly VolumeClaim[], node: Node, candidatesOf: Candidates): readonly Write[] {
    return open.flatMap((claim) => {
      const { uid } = claim.metadata
      const place = this.#placeOf(claim, node, candidatesOf, noVolumes)
      if (place === undefined || this.#given.has(uid)) return []
      this.#given.set(uid, place === 'made' ? node.metadata.name : place)
      if (place === 'made') return this.#selectNode(claim, node)
      this.#taken.add(place.metadata.name)
      return claimRefWrites(claim, place, this.#sources.names)
    })
  }

  #selectNode(claim: VolumeClaim, node: Node): readonly Write[] {
    const { selectedNode } = this.#sources.names
    if (claim.metadata.annotations[selectedNode] !== undefined) return []
    return [patchOf(claim, { metadata: { annotations: { [selectedNode]: node.metadata.name } } })]
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
