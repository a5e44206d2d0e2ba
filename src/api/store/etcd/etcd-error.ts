import { status } from '@grpc/grpc-js'
import { StoreError } from '../store-error.ts'

/** A call of etcd's API that failed, at which endpoint and why. */
export class EtcdCallError extends Error {
  readonly endpoint: string
  /** The gRPC code. */
  readonly code: number

  constructor(endpoint: string, code: number, reason: string) {
    super(`${endpoint}: ${reason}`)
    this.endpoint = endpoint
    this.code = code
  }
}

const noSpace = /database space exceeded/
const tooLarge = /request is too large|larger than max|too many operations/
const compacted = /revision has been compacted/
const refusals: readonly number[] = [status.UNAUTHENTICATED, status.PERMISSION_DENIED]
/** Also the reasons with which etcd cancels a watch, which has no code. */
const refusal = /user name is empty|invalid auth token|auth store is old|authentication failed|permission denied/
const wrongPassword = /authentication failed/
const lacksUser = /user name is empty/

/** The codes with which etcd says that a call had no effect; after any other a write may still happen. */
const definite: readonly number[] = [
  ...refusals,
  status.INVALID_ARGUMENT,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.RESOURCE_EXHAUSTED,
  status.UNIMPLEMENTED,
]

/** Tells whether another member, or the same one later, may give another answer. */
export function isPassing(error: EtcdCallError): boolean {
  return !definite.includes(error.code)
}

export function isCompacted(thrown: unknown): boolean {
  return thrown instanceof EtcdCallError && compacted.test(thrown.message)
}

/** Tells whether etcd has the alarm NOSPACE, under which it takes nothing that puts a key. */
export function isNoSpace(thrown: unknown): boolean {
  return thrown instanceof EtcdCallError && noSpace.test(thrown.message)
}

/** Returns the error of the store for a failed call. */
export function toStoreError(error: EtcdCallError): StoreError {
  const cause = { object: `etcd ${error.endpoint}`, cause: error }
  if (noSpace.test(error.message)) {
    const remedy = 'compact and defragment etcd or raise its quota, then take back the alarm: etcdctl alarm disarm'
    return new StoreError('store-full', `etcd has no space left: ${error.message}`, { ...cause, remedy })
  }
  if (tooLarge.test(error.message)) {
    const remedy = 'write a smaller object, or raise --max-request-bytes and --max-txn-ops of etcd'
    return new StoreError('write-too-large', `etcd refused a write: ${error.message}`, { ...cause, remedy })
  }
  if (isRefusal(error)) {
    const remedy = refusalRemedy(error.message)
    return new StoreError('store-unreachable', `etcd refused this server: ${error.message}`, { ...cause, remedy })
  }
  return new StoreError('store-unreachable', `etcd gave no answer: ${error.message}`, {
    ...cause,
    remedy: remedyOf(error.message),
  })
}

/** Tells whether etcd does not know this server's user, or does not allow it what it asked for. */
export function isRefusal(error: EtcdCallError): boolean {
  return refusals.includes(error.code) || refusal.test(error.message)
}

function refusalRemedy(reason: string): string {
  if (wrongPassword.test(reason)) return 'check --etcd-username and the password in the file of --etcd-password-file'
  if (lacksUser.test(reason)) {
    return 'etcd asks for a user: set --etcd-username and --etcd-password-file, or --etcd-certfile and --etcd-keyfile'
  }
  return 'the role of this user in etcd needs to read and write all keys below --etcd-prefix: etcdctl role grant-permission ROLE --prefix=true readwrite PREFIX/'
}

function remedyOf(reason: string): string {
  if (/alert|bad certificate|certificate required/i.test(reason)) {
    return 'check --etcd-certfile and --etcd-keyfile: etcd asks for a client certificate of its own CA'
  }
  if (/self.signed|unable to (get|verify)|certificate|UNABLE_TO/i.test(reason)) {
    return 'check --etcd-cafile: the CA that signed the certificates of the etcd members'
  }
  if (/leader|timed out|Deadline|no answer within/i.test(reason)) {
    return 'most members of etcd must run and reach each other: etcdctl endpoint status --cluster'
  }
  return 'check --etcd-servers, and whether these members of etcd run'
}
