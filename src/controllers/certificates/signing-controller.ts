import type { Component } from '../../loop/component.ts'
import type { JsonObject } from '../../model/api-object.ts'
import { PlatnetError } from '../../model/errors.ts'
import type { SignerNames } from '../../model/signer-names.ts'
import {
  faultOfClient,
  faultOfKubeletClient,
  faultOfKubeletServing,
  type RequestedCertificate,
  type RequestSigner,
} from '../../model/signing.ts'
import type { ControllerContext } from '../context.ts'
import { hasCondition, requestPemOf, type SigningRequest, withDecision } from '../objects/signing-request.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { keyOf } from '../runtime/resource-type.ts'
import { writeStatus } from './write-status.ts'

export interface SigningSettings {
  readonly signer: RequestSigner
  /** The longest life of a signed certificate, in milliseconds, read at each signature. */
  readonly longestMs: () => number
}

const shortestSeconds = 600

/**
 * Creates the controller that signs approved certificate requests of the cluster's own signers. A request that its
 * signer does not allow gets the condition Failed, as in Kubernetes. Requests of other signers are left to these.
 */
export function createSigningController(kit: ControllerContext, settings: SigningSettings): Component {
  const { caches, dialect, metrics, log, types } = kit
  const requests = caches.of(types.signingRequests)
  return new Controller({
    name: 'csrsigning',
    watches: [watchKeys(requests, (request) => (isDue(request) ? [keyOf(request)] : []))],
    reconcile: async (key, { signal }) => {
      const request = requests.get(key)
      const faultOf = request && rulesOf(request, dialect.signers)
      if (request === undefined || faultOf === undefined || !isDue(request)) return undefined
      const status = await answer(request, faultOf, settings)
      await writeStatus(kit, request, { subresource: 'status', status }, signal)
      return undefined
    },
    metrics,
    log: log.child('csrsigning'),
  })
}

function isDue(request: SigningRequest): boolean {
  return hasCondition(request, 'Approved') && !hasCondition(request, 'Failed') && request.status.certificate === ''
}

type Rules = (request: RequestedCertificate, usages: readonly string[]) => string | undefined

function rulesOf({ spec }: SigningRequest, signers: SignerNames): Rules | undefined {
  if (spec.signerName === signers.client) return faultOfClient
  if (spec.signerName === signers.kubeletClient) return faultOfKubeletClient
  return spec.signerName === signers.kubeletServing ? faultOfKubeletServing : undefined
}

/** Returns the status with the certificate, or with the reason why there is none. */
async function answer(
  request: SigningRequest,
  faultOf: Rules,
  { signer, longestMs }: SigningSettings,
): Promise<JsonObject> {
  const { usages, expirationSeconds = Number.POSITIVE_INFINITY } = request.spec
  const pem = requestPemOf(request)
  try {
    const fault = faultOf(await signer.read(pem), usages)
    if (fault !== undefined) return failure(request, fault)
    const seconds = Math.max(shortestSeconds, Math.min(expirationSeconds, Math.floor(longestMs() / 1000)))
    const certificate = await signer.sign(pem, usages, seconds)
    return { certificate: Buffer.from(certificate).toString('base64') }
  } catch (thrown) {
    if (thrown instanceof PlatnetError && thrown.code === 'invalid-request') return failure(request, thrown.message)
    throw thrown
  }
}

function failure(request: SigningRequest, message: string): JsonObject {
  return withDecision(request, 'Failed', 'SignerValidationFailure', message)
}
