import type { ApiObject, JsonObject } from '../../../model/api-object.ts'
import { claimChildren, controllerReference } from '../../objects/claim.ts'
import { isFinished, type Pod } from '../../objects/pod.ts'
import { nameOf, type Write } from '../../objects/writes.ts'
import { appsVersion, deploymentsResource, replicaSetsResource } from '../kinds.ts'
import type { Plan } from '../plan.ts'
import type { Deployment, ReplicaSet } from '../shapes.ts'
import { statusWrites } from '../status-write.ts'
import { canonicalJson, hashTemplate, templateHashLabel, withoutEmptyMetadata } from '../template.ts'
import {
  compareRevisions,
  desiredReplicasAnnotation,
  highestOf,
  historyAnnotations,
  inheritedAnnotations,
  nextRevision,
  revisionAnnotation,
  revisionOf,
  sizeAnnotations,
} from './annotations.ts'
import {
  createdOrder,
  newestReplicas,
  oldReplicas,
  rolloutBounds,
  spreadReplicas,
  wantedReplicas,
} from './replica-counts.ts'
import { countsOf, deadlineInMs, deploymentStatus, isComplete, type Rollout } from './status.ts'

export interface DeploymentView {
  readonly deployment: Deployment
  /** All ReplicaSets in the Deployment's namespace. */
  readonly sets: readonly ReplicaSet[]
  /**
   * All pods in the Deployment's namespace. Only the strategy Recreate reads them, to see whether old ones still run.
   */
  readonly pods: readonly Pod[]
  readonly nowMs: number
}

/**
 * Plans one step of a Deployment towards its template and size: creates, scales and deletes ReplicaSets, and updates
 * revisions and status.
 */
export function planDeployment({ deployment, sets, pods, nowMs }: DeploymentView): Plan {
  const owner = ownerOf(deployment)
  const claim = claimChildren(owner, deployment.spec.selector, replicaSetsResource, sets)
  const rollout = rolloutOf(deployment, [...claim.mine].sort(createdOrder))
  const isLeaving = deployment.metadata.deletionTimestamp !== undefined
  const steps = isLeaving ? [] : stepWrites(rollout, pods)
  const status = deploymentStatus(rollout, nowMs)
  const againInMs = deadlineInMs(rollout, status, nowMs)
  return {
    writes: [...claim.writes, ...steps, ...statusWrites(deploymentsResource, owner, status as unknown as JsonObject)],
    ...(againInMs !== undefined && { againInMs }),
  }
}

function ownerOf(deployment: Deployment): Deployment & { apiVersion: string; kind: string } {
  return { ...deployment, apiVersion: appsVersion, kind: 'Deployment' }
}

/**
 * Splits the ReplicaSets into the newest and the old ones. The newest is the oldest one with the present template; if a
 * mistake created two of them, the other counts as old.
 */
function rolloutOf(deployment: Deployment, sets: readonly ReplicaSet[]): Rollout {
  const wanted = templateText(deployment.spec.template)
  const newest = sets.find(({ spec }) => templateText(spec.template) === wanted)
  return { deployment, newest, old: sets.filter((set) => set !== newest) }
}

function templateText(template: Deployment['spec']['template']): string {
  const { [templateHashLabel]: _, ...labels } = template.metadata.labels
  const metadata = { ...template.metadata, labels, creationTimestamp: undefined }
  return canonicalJson({ ...template, metadata } as unknown as JsonObject)
}

function stepWrites(rollout: Rollout, pods: readonly Pod[]): readonly Write[] {
  const { deployment } = rollout
  const bookkeeping = revisionWrites(rollout)
  if (deployment.spec.paused || isScaled(rollout)) return [...bookkeeping, ...scaleWrites(rollout)]
  const strategy = deployment.spec.strategy.type === 'Recreate' ? recreateWrites(rollout, pods) : rollingWrites(rollout)
  return [...bookkeeping, ...strategy, ...historyWrites(rollout)]
}

/**
 * Gives the highest revision to the newest ReplicaSet and to the Deployment. A rollback makes an old ReplicaSet the
 * newest again.
 */
function revisionWrites({ deployment, newest, old }: Rollout): readonly Write[] {
  if (newest === undefined) return []
  const revision = highestOf([revisionOf(newest), nextRevision(old)])
  const wanted = { ...inheritedAnnotations(deployment, revision), ...historyAnnotations(newest, revision) }
  return [
    ...annotationWrites(replicaSetsResource, newest, wanted),
    ...readinessWrites(deployment, newest),
    ...annotationWrites(deploymentsResource, deployment, { [revisionAnnotation]: String(revision) }),
  ]
}

function annotationWrites(
  resource: typeof replicaSetsResource,
  object: ReplicaSet | Deployment,
  wanted: Readonly<Record<string, string>>,
): readonly Write[] {
  const changed = Object.entries(wanted).filter(([key, value]) => object.metadata.annotations[key] !== value)
  if (changed.length === 0) return []
  const patch = { metadata: { uid: object.metadata.uid, annotations: Object.fromEntries(changed) } }
  return [{ verb: 'patch', target: nameOf(resource, object), patch }]
}

/** Copies `minReadySeconds` to the newest ReplicaSet. It is not part of the template, so a change starts no rollout. */
function readinessWrites({ spec: { minReadySeconds } }: Deployment, newest: ReplicaSet): readonly Write[] {
  if (newest.spec.minReadySeconds === minReadySeconds) return []
  const patch = { metadata: { uid: newest.metadata.uid }, spec: { minReadySeconds } }
  return [{ verb: 'patch', target: nameOf(replicaSetsResource, newest), patch }]
}

/** Checks whether the size of the Deployment changed since its ReplicaSets were scaled. */
function isScaled({ deployment, newest, old }: Rollout): boolean {
  return activeSets(newest, old).some(({ metadata }) => {
    const sized = metadata.annotations[desiredReplicasAnnotation]
    return sized !== undefined && Number(sized) !== deployment.spec.replicas
  })
}

function activeSets(newest: ReplicaSet | undefined, old: readonly ReplicaSet[]): readonly ReplicaSet[] {
  return [...(newest === undefined ? [] : [newest]), ...old].filter(({ spec }) => spec.replicas > 0)
}

/**
 * Scales the ReplicaSets to a new size of the Deployment: a single one takes all of it, several share it with the surge
 * in proportion.
 */
function scaleWrites({ deployment, newest, old }: Rollout): readonly Write[] {
  const active = activeSets(newest, old)
  const [only] = active.length === 0 && newest !== undefined ? [newest] : active
  if (active.length <= 1) return only === undefined ? [] : resizeWrites(deployment, only, deployment.spec.replicas)
  const { surge } = rolloutBounds(deployment)
  const total = deployment.spec.replicas === 0 ? 0 : deployment.spec.replicas + surge
  const counts = spreadReplicas(active, total)
  return active.flatMap((set) => resizeWrites(deployment, set, counts.get(set.metadata.name) ?? set.spec.replicas))
}

function rollingWrites(rollout: Rollout): readonly Write[] {
  const { deployment, newest, old } = rollout
  const all = wantedReplicas(old)
  if (newest === undefined) return [createWrite(rollout, newestReplicas(deployment, 0, all))]
  const replicas = newestReplicas(deployment, newest.spec.replicas, all + newest.spec.replicas)
  if (replicas !== newest.spec.replicas) return resizeWrites(deployment, newest, replicas)
  const counts = oldReplicas(deployment, newest, old)
  return old.flatMap((set) => resizeWrites(deployment, set, counts.get(set.metadata.name) ?? 0))
}

/** Scales the newest ReplicaSet up after all old pods have ended. */
function recreateWrites(rollout: Rollout, pods: readonly Pod[]): readonly Write[] {
  const { deployment, newest, old } = rollout
  const running = old.filter(({ spec }) => spec.replicas > 0)
  if (running.length > 0) return running.flatMap((set) => resizeWrites(deployment, set, 0))
  const oldUids = new Set(old.map(({ metadata }) => metadata.uid))
  const isOld = ({ metadata }: Pod) => metadata.ownerReferences.some(({ uid }) => oldUids.has(uid))
  if (pods.some((pod) => isOld(pod) && !isFinished(pod))) return []
  if (newest === undefined) return [createWrite(rollout, deployment.spec.replicas)]
  return resizeWrites(deployment, newest, deployment.spec.replicas)
}

function resizeWrites(deployment: Deployment, set: ReplicaSet, replicas: number): readonly Write[] {
  const sizes = sizeAnnotations(deployment.spec.replicas, deployment.spec.replicas + rolloutBounds(deployment).surge)
  const isNoted = Object.entries(sizes).every(([key, value]) => set.metadata.annotations[key] === value)
  if (set.spec.replicas === replicas && (isNoted || replicas === 0)) return []
  const { uid, resourceVersion } = set.metadata
  const patch = { metadata: { uid, resourceVersion, annotations: sizes }, spec: { replicas } }
  return [{ verb: 'patch', target: nameOf(replicaSetsResource, set), patch, sizeBefore: set.spec.replicas }]
}

function createWrite({ deployment, old }: Rollout, replicas: number): Write {
  const { template, minReadySeconds } = deployment.spec
  const { matchLabels, matchExpressions } = deployment.spec.selector
  const hash = hashTemplate(templateText(template), deployment.status.collisionCount)
  const labels = { ...template.metadata.labels, [templateHashLabel]: hash }
  const sizes = sizeAnnotations(deployment.spec.replicas, deployment.spec.replicas + rolloutBounds(deployment).surge)
  const object = {
    apiVersion: appsVersion,
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      namespace: deployment.metadata.namespace,
      labels,
      annotations: { ...inheritedAnnotations(deployment, nextRevision(old)), ...sizes },
      ownerReferences: [controllerReference(ownerOf(deployment))],
    },
    spec: {
      replicas,
      ...(minReadySeconds > 0 && { minReadySeconds }),
      selector: {
        matchLabels: { ...matchLabels, [templateHashLabel]: hash },
        ...(matchExpressions.length > 0 && { matchExpressions }),
      },
      template: withoutEmptyMetadata({ ...template, metadata: { ...template.metadata, labels } }),
    },
  }
  return { verb: 'create', resource: replicaSetsResource, object: object as unknown as ApiObject }
}

/**
 * Deletes old ReplicaSets without pods beyond `revisionHistoryLimit`, the lowest revisions first, once the rollout is
 * complete.
 */
function historyWrites(rollout: Rollout): readonly Write[] {
  const { deployment, old } = rollout
  if (!isComplete(deployment, countsOf(rollout))) return []
  const kept = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const surplus = kept.length - deployment.spec.revisionHistoryLimit
  return kept
    .toSorted(compareRevisions)
    .slice(0, Math.max(0, surplus))
    .filter(isEmpty)
    .map((set) => ({ verb: 'delete', target: nameOf(replicaSetsResource, set), uid: set.metadata.uid }))
}

function isEmpty({ spec, status, metadata }: ReplicaSet): boolean {
  return spec.replicas === 0 && status.replicas === 0 && status.observedGeneration >= metadata.generation
}
