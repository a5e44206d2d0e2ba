import type { JsonObject } from '../../model/api-object.ts'
import type { AdmissionRequest } from '../admission/admission-request.ts'
import type { Match } from '../admission/match-rules.ts'
import { requestValue } from '../admission/policy-input.ts'
import type { ApiDocument } from '../document.ts'
import type { ReviewVersion } from './webhook.ts'

/** The group of AdmissionReview; webhooks know no other, whatever the dialect. */
const group = 'admission.k8s.io'

export function reviewApiVersion(version: ReviewVersion): string {
  return `${group}/${version}`
}

/** The subject of a question: the objects of a request, in the version that the rules of the webhook name. */
export interface Invocation extends Match {
  readonly object: ApiDocument | undefined
  readonly oldObject: ApiDocument | undefined
}

/** Returns the AdmissionReview of a request. */
export function createReview(
  version: ReviewVersion,
  uid: string,
  request: AdmissionRequest,
  invocation: Invocation,
): JsonObject {
  const { object = null, oldObject = null } = invocation
  return {
    kind: 'AdmissionReview',
    apiVersion: reviewApiVersion(version),
    request: { ...requestValue(request, invocation), uid, object, oldObject },
  }
}
