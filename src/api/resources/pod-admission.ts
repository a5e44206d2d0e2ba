import { setTimeout as sleep } from 'node:timers/promises'
import type { AccountAccess, Dialect } from '../../model/dialect.ts'
import { type ApiDocument, objectAt, textAt } from '../document.ts'
import { forbidden } from '../status.ts'
import type { Store, StoredEntry } from '../store/index.ts'
import { storeKey } from './keys.ts'
import { isMirrorPod } from './mirror-pod.ts'
import { findMirrorFault } from './pod-references.ts'
import {
  createTokenGrant,
  defaultAccount,
  findForeignSecret,
  type PodAccount,
  readPodAccount,
  withAccount,
} from './pod-spec/account-access.ts'
import type { Admission, Strategy } from './resource.ts'

export interface PodAdmissionParts {
  readonly store: Store
  readonly dialect: Dialect
  /** Whether admission adds the contents of its ServiceAccount to a Pod, in dialects that have this step. */
  readonly admitsAccounts: boolean
}

/**
 * Implements the admission plugin ServiceAccount: adds the contents of its account to a new Pod and checks the limits
 * of the account.
 */
export function createPodAdmission({
  store,
  dialect,
  admitsAccounts,
}: PodAdmissionParts): NonNullable<Strategy['admit']> {
  const access = admitsAccounts ? dialect.accountAccess : undefined
  const grant = access && createTokenGrant(access)
  const find = createAccountFinder(store)
  return async (pod, admission) => {
    const refuse = (why: string) => forbidden({ group: '', plural: 'pods', kind: 'Pod' }, admission.name, why)
    if (isMirrorPod(pod, dialect)) {
      const fault = findMirrorFault(pod)
      if (fault !== undefined) throw refuse(`a mirror pod may not ${fault}`)
      return pod
    }
    if (grant === undefined) return pod
    const name = textAt(pod, 'spec', 'serviceAccountName') || defaultAccount
    const account = await find(name, grant, admission)
    const path = `${admission.namespace}/${name}`
    if (account === undefined)
      throw refuse(`error looking up service account ${path}: serviceaccount "${name}" not found`)
    const spec = withAccount(objectAt(pod, 'spec'), account, grant, admission.newName)
    const foreign = findForeignSecret(spec, account)
    if (foreign !== undefined) throw refuse(foreign)
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
