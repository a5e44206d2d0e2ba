import { X509Certificate } from 'node:crypto'
import type { Component } from '../../loop/component.ts'
import type { ControllerContext } from '../context.ts'
import { applyWrites } from '../objects/apply-writes.ts'
import { hasCondition, type SigningRequest } from '../objects/signing-request.ts'
import { writeTarget } from '../objects/write-target.ts'
import { nameOf } from '../objects/writes.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { keyOf } from '../runtime/resource-type.ts'

const hourMs = 3_600_000
/** The longest delay of one timer. */
const recheckMs = hourMs

/**
 * Creates the controller that deletes old certificate requests, as Kubernetes does: one without an answer after a day,
 * an answered one after an hour, or when its certificate has expired.
 */
export function createCleaningController({ caches, client, metrics, log, types }: ControllerContext): Component {
  const requests = caches.of(types.signingRequests)
  const target = writeTarget(client, caches, [])
  return new Controller({
    name: 'csrcleaner',
    watches: [watchKeys(requests, (request) => [keyOf(request)])],
    reconcile: async (key, { signal }) => {
      const request = requests.get(key)
      const leftMs = request && expiresAtMs(request) - Date.now()
      if (request === undefined || leftMs === undefined || leftMs === Number.POSITIVE_INFINITY) return undefined
      if (leftMs > 0) return { againInMs: Math.min(leftMs, recheckMs) }
      const name = nameOf(types.signingRequests.resource, request)
      await applyWrites(target, [{ verb: 'delete', target: name, uid: request.metadata.uid }], signal)
      return undefined
    },
    metrics,
    log: log.child('csrcleaner'),
  })
}

/** Returns when a request may go: infinity for one that was approved and has no certificate yet. */
function expiresAtMs(request: SigningRequest): number {
  const { metadata, status } = request
  if (status.conditions.length === 0) return timeOf(metadata.creationTimestamp) + 24 * hourMs
  const isIssued = status.certificate !== '' && hasCondition(request, 'Approved')
  const final = ['Denied', 'Failed', ...(isIssued ? ['Approved'] : [])]
  const ends = status.conditions
    .filter(({ type }) => final.includes(type))
    .map(({ lastUpdateTime }) => timeOf(lastUpdateTime) + hourMs)
  return Math.min(Number.POSITIVE_INFINITY, ...ends, ...(isIssued ? [endOf(status.certificate)] : []))
}

/** A time that is none never comes. */
function timeOf(text: string): number {
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? Number.POSITIVE_INFINITY : ms
}

function endOf(certificate: string): number {
  try {
    return new X509Certificate(Buffer.from(certificate, 'base64')).validToDate.getTime()
  } catch {
    // Another signer wrote something that is no certificate; the request goes an hour after its approval.
    return Number.POSITIVE_INFINITY
  }
}
