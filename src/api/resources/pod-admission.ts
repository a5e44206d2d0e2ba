import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { AccountAccess, Dialect } from '../../model/dialect.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../document.ts'
import { forbidden, listReasons, type StatusError } from '../status.ts'
import type { Store, StoredEntry } from '../store/index.ts'
import { storeKey } from './keys.ts'
import { isMirrorPod } from './mirror-pod.ts'
import { findLimitFaults, findLimits, withDefaultLimits } from './pod-limits.ts'
import { admitPriority } from './pod-priority.ts'
import { findMirrorFault } from './pod-references.ts'
import { admitRuntimeClass } from './pod-runtime-class.ts'
import {
  createTokenGrant,
  defaultAccount,
  findForeignSecret,
  type PodAccount,
  readPodAccount,
  withAccount,
} from './pod-spec/account-access.ts'
import { qosClassOf } from './pod-spec/qos-class.ts'
import { withDefaultTolerations } from './pod-tolerations.ts'
import type { Admission, PartWrite, Strategy } from './resource.ts'

export interface PodAdmissionParts {
  readonly store: Store
  readonly dialect: Dialect
  /** Whether admission adds the contents of its ServiceAccount to a Pod, in dialects that have this step. */
  readonly admitsAccounts: boolean
  /** Whether Pods tolerate nodes in trouble for five minutes where they say nothing, in the dialect kubernetes. */
  readonly addsTolerations: boolean
}

/**
 * Admits new Pods, in the order of Kubernetes: default requests and limits, the contents of the ServiceAccount, the
 * priority, how long it stays on a node in trouble, what the runtime class costs, then the bounds of the namespace.
 */
export function createPodAdmission(parts: PodAdmissionParts): NonNullable<Strategy['admit']> {
  const { store, dialect } = parts
  const admitAccount = createAccountAdmission(parts)
  return async (pod, admission) => {
    const limits = await findLimits(store, admission.namespace)
    const limited = withDefaultLimits(pod, limits, dialect.annotations.limitRanger)
    const admitted = await admitAccount(limited, admission)
    const hasClasses = dialect.name === 'kubernetes'
    const prioritized = await admitPriority(store, admitted, hasClasses)
    if (typeof prioritized === 'string') throw refuse(admission, prioritized)
    const placed = hasClasses ? await admitPlace(parts, prioritized) : prioritized
    if (typeof placed === 'string') throw refuse(admission, placed)
    const faults = limits.length === 0 ? [] : findLimitFaults(placed, limits)
    if (faults.length > 0) throw refuse(admission, listReasons(faults))
    return limited === pod ? placed : withQosClass(placed)
  }
}

/** Completes a resize: a container that states no request or limit any more gets the namespace's default again, as in Kubernetes. */
export function createResizeAdmission({
  store,
  dialect,
}: Pick<PodAdmissionParts, 'store' | 'dialect'>): NonNullable<PartWrite['admit']> {
  return async (pod, namespace) =>
    withDefaultLimits(pod, await findLimits(store, namespace), dialect.annotations.limitRanger)
}

/** Checks a Pod whose containers change their resources against the bounds of its namespace. */
export function createResizeGuard(store: Store): NonNullable<Strategy['guard']> {
  return async ({ old, next }) => {
    // A write of the status, by far the most frequent one, has the same spec.
    if (old === undefined || next === undefined || old['spec'] === next['spec']) return
    if (isDeepStrictEqual(resourcesOf(next), resourcesOf(old))) return
    const { name = '', namespace = '' } = next.metadata
    const faults = findLimitFaults(next, await findLimits(store, namespace))
    if (faults.length > 0) throw refuse({ name }, listReasons(faults))
  }
}

function resourcesOf({ spec }: ApiDocument): readonly unknown[] {
  return [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')].map((each) => valueAt(each, 'resources'))
}

/** Adds what says on which nodes a Pod runs, and for how long; returns the reason against it as a text. */
function admitPlace({ store, dialect, addsTolerations }: PodAdmissionParts, pod: ApiDocument) {
  return admitRuntimeClass(store, addsTolerations ? withDefaultTolerations(pod, dialect) : pod)
}

/** Returns a Pod with the QoS class of the requests and limits that it has now. */
function withQosClass(pod: ApiDocument): ApiDocument {
  return { ...pod, status: { ...objectAt(pod['status']), qosClass: qosClassOf(pod['spec']) } }
}

function refuse({ name }: Pick<Admission, 'name'>, why: string): StatusError {
  return forbidden({ group: '', plural: 'pods', kind: 'Pod' }, name, why)
}

/**
 * Implements the admission plugin ServiceAccount: adds the contents of its account to a new Pod and checks the limits
 * of the account.
 */
function createAccountAdmission({ store, dialect, admitsAccounts }: PodAdmissionParts): NonNullable<Strategy['admit']> {
  const access = admitsAccounts ? dialect.accountAccess : undefined
  const grant = access && createTokenGrant(access)
  const find = createAccountFinder(store)
  return async (pod, admission) => {
    if (isMirrorPod(pod, dialect)) {
      const fault = findMirrorFault(pod)
      if (fault !== undefined) throw refuse(admission, `a mirror pod may not ${fault}`)
      return pod
    }
    if (grant === undefined) return pod
    const name = textAt(pod, 'spec', 'serviceAccountName') || defaultAccount
    const account = await find(name, grant, admission)
    const path = `${admission.namespace}/${name}`
    if (account === undefined)
      throw refuse(admission, `error looking up service account ${path}: serviceaccount "${name}" not found`)
    const spec = withAccount(objectAt(pod, 'spec'), account, grant, admission.newName)
    const foreign = findForeignSecret(spec, account)
    if (foreign !== undefined) throw refuse(admission, foreign)
    return { ...pod, spec }
  }
}

type AccountFinder = (name: string, access: AccountAccess, admission: Admission) => Promise<PodAccount | undefined>

/** How long a Pod waits for the account that a controller creates in each namespace, as in Kubernetes. */
const defaultAccountWaitMs = 1_500
const pollMs = 50

/** Finds accounts, and caches them by their store entry: nearly every Pod has an account that an earlier one had. */
function createAccountFinder(store: Store): AccountFinder {
  const read = new WeakMap<StoredEntry, PodAccount>()
  return async (name, access, { namespace, aside }) => {
    const key = storeKey({ plural: 'serviceaccounts' }, namespace, name)
    const entry = (await store.get(key)) ?? (name === defaultAccount ? await waitFor(store, key, aside) : undefined)
    if (entry === undefined) return undefined
    const account = read.get(entry) ?? readPodAccount(JSON.parse(entry.value) as ApiDocument, access)
    read.set(entry, account)
    return account
  }
}

async function waitFor(store: Store, key: string, aside: Admission['aside']): Promise<StoredEntry | undefined> {
  const deadlineMs = performance.now() + defaultAccountWaitMs
  let found: StoredEntry | undefined
  await aside(async () => {
    while (found === undefined && performance.now() < deadlineMs) {
      await sleep(pollMs)
      found = await store.get(key)
    }
  })
  return found
}
