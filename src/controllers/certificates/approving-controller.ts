import { z } from 'zod'
import type { Component } from '../../loop/component.ts'
import { faultOfKubeletClient, type RequestSigner } from '../../model/signing.ts'
import type { ControllerContext } from '../context.ts'
import { hasCondition, requestPemOf, type SigningRequest, withDecision } from '../objects/signing-request.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { keyOf } from '../runtime/resource-type.ts'
import { writeStatus } from './write-status.ts'

const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) })

/** After a refusal: someone may give the right later. */
const recheckMs = 60_000
const approval = 'Approved automatically: the requester may create client certificates of kubelets.'

/**
 * Creates the controller that approves the requests of kubelets for client certificates, where the requester may create
 * `certificatesigningrequests/selfnodeclient` (for the node that it is) or `/nodeclient` (for any node), as in
 * Kubernetes. Everything else waits for a person or another controller.
 */
export function createApprovingController(kit: ControllerContext, signer: RequestSigner): Component {
  const { caches, client, dialect, metrics, log, types } = kit
  const requests = caches.of(types.signingRequests)
  const isOfKubelet = ({ spec }: SigningRequest) => spec.signerName === dialect.signers.kubeletClient
  const reviews = { group: dialect.groups.authorization, version: 'v1', resource: 'subjectaccessreviews' }

  const mayCreate = async ({ spec }: SigningRequest, subresource: string, signal: AbortSignal): Promise<boolean> => {
    const { username: user, uid, groups, extra } = spec
    const { group, resource } = types.signingRequests.resource
    const resourceAttributes = { verb: 'create', group, version: '*', resource, subresource }
    const question = { user, uid, groups, extra, resourceAttributes }
    const answer = await client.review(reviews, 'SubjectAccessReview', question, { signal })
    return reviewSchema.parse(answer).status.allowed
  }
  const isAllowed = async (request: SigningRequest, signal: AbortSignal): Promise<boolean | undefined> => {
    const asked = await signer.read(requestPemOf(request))
    if (faultOfKubeletClient(asked, request.spec.usages) !== undefined) return undefined
    const isSelf = asked.commonNames[0] === request.spec.username
    if (isSelf && (await mayCreate(request, 'selfnodeclient', signal))) return true
    return mayCreate(request, 'nodeclient', signal)
  }

  return new Controller({
    name: 'csrapproving',
    watches: [watchKeys(requests, (request) => (isOfKubelet(request) ? [keyOf(request)] : []))],
    reconcile: async (key, { signal }) => {
      const request = requests.get(key)
      if (request === undefined || !isOfKubelet(request) || isDecided(request)) return undefined
      const decision = await isAllowed(request, signal)
      if (decision !== true) return decision === undefined ? undefined : { againInMs: recheckMs }
      const status = withDecision(request, 'Approved', 'AutoApproved', approval)
      await writeStatus(kit, request, { subresource: 'approval', status }, signal)
      return undefined
    },
    metrics,
    log: log.child('csrapproving'),
  })
}

function isDecided(request: SigningRequest): boolean {
  return request.status.certificate !== '' || hasCondition(request, 'Approved', 'Denied')
}
