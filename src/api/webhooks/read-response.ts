import { z } from 'zod'
import type { Json } from '../../model/api-object.ts'
import { parseJson } from '../exact-json.ts'
import { reviewApiVersion } from './review.ts'
import type { ReviewVersion, WebhookType } from './webhook.ts'
import { WebhookError } from './webhook-error.ts'

/** The answer of a webhook about a request. */
export interface ReviewResponse {
  readonly isAllowed: boolean
  /** The operations of a JSON patch (RFC 6902); empty where nothing changes. */
  readonly patch: readonly Json[]
  /** The Status of a refusal. */
  readonly status: GivenStatus | undefined
  readonly warnings: readonly string[]
}

export type GivenStatus = z.infer<typeof statusShape>

const text = z.string().default('')
const causeShape = z.object({ reason: z.string().exactOptional(), message: text, field: z.string().exactOptional() })
const detailsShape = z.object({
  name: z.string().exactOptional(),
  group: z.string().exactOptional(),
  kind: z.string().exactOptional(),
  uid: z.string().exactOptional(),
  causes: z.array(causeShape).exactOptional(),
  retryAfterSeconds: z.int32().exactOptional(),
})
const statusShape = z.object({
  code: z.int32().default(0),
  reason: text,
  message: text,
  details: detailsShape.nullish(),
})

const responseShape = z.object({
  uid: text,
  allowed: z.boolean().nullish(),
  status: statusShape.nullish(),
  patch: z.string().nullish(),
  patchType: z.string().nullish(),
  auditAnnotations: z.record(z.string(), z.string()).nullish(),
  warnings: z.array(z.string()).nullish(),
})

const reviewShape = z.object({
  apiVersion: text,
  kind: text,
  response: responseShape.nullish(),
})

type Review = z.infer<typeof reviewShape>
type Response = z.infer<typeof responseShape>

/** The facts that an answer must fit. */
export interface ExpectedResponse {
  readonly type: WebhookType
  readonly version: ReviewVersion
  readonly uid: string
}

/** Reads the body of a webhook's answer. Throws WebhookError in the words of kube-apiserver where it has some. */
export function readResponse(body: string, expected: ExpectedResponse): ReviewResponse {
  const review = parseReview(body)
  const { response } = review
  if (response === undefined || response === null) throw invalidResponse('webhook response was absent')
  if (expected.version === 'v1') verify(review, response, expected)
  return {
    isAllowed: response.allowed === true,
    patch: expected.type === 'mutating' && response.patch ? readPatch(response.patch, response.patchType) : [],
    status: response.status ?? undefined,
    warnings: response.warnings ?? [],
  }
}

function parseReview(body: string): Review {
  try {
    return reviewShape.parse(JSON.parse(body))
  } catch (cause) {
    const why = cause instanceof z.ZodError ? describeIssue(cause) : String(cause)
    throw new WebhookError('bad-response', `failed to call webhook: the answer is no AdmissionReview: ${why}`, {
      cause,
    })
  }
}

function describeIssue({ issues: [first] }: z.ZodError): string {
  return first === undefined ? 'unknown' : `${first.path.join('.') || 'the body'}: ${first.message}`
}

/** Checks what version 1 demands; the beta demanded nothing. */
function verify({ apiVersion, kind }: Review, response: Response, { type, uid }: ExpectedResponse): void {
  if (response.uid !== uid)
    throw invalidResponse(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid)}`)
  const wanted = describeKind(reviewApiVersion('v1'), 'AdmissionReview')
  const found = describeKind(apiVersion, kind)
  if (found !== wanted) throw invalidResponse(`expected webhook response of ${wanted}, got ${found}`)
  verifyPatch(response, type)
}

function verifyPatch({ patch, patchType }: Response, type: WebhookType): void {
  const [hasPatch, hasType] = [Boolean(patch), patchType !== undefined && patchType !== null]
  if (type === 'validating') {
    if (hasPatch) throw invalidResponse('validating webhook may not return response.patch')
    if (hasType) throw invalidResponse('validating webhook may not return response.patchType')
    return
  }
  if (hasPatch && !hasType) throw invalidResponse('webhook returned response.patch but not response.patchType')
  if (!hasPatch && hasType) throw invalidResponse('webhook returned response.patchType but not response.patch')
  if (patchType === '') throw invalidResponse('webhook returned invalid response.patchType of ""')
}

/** Writes a kind as Go's apimachinery does: `admission.k8s.io/v1, Kind=AdmissionReview`; a core version has an empty group. */
function describeKind(apiVersion: string, kind: string): string {
  return `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`
}

function readPatch(encoded: string, patchType: string | null | undefined): readonly Json[] {
  const patch = decodePatch(encoded)
  if (!Array.isArray(patch)) throw undecodable('a JSON patch is an array')
  // The beta had no other type, and did not ask for one.
  if (patchType === undefined || patchType === null || patchType === 'JSONPatch' || patch.length === 0) return patch
  throw new WebhookError('bad-response', `unsupported patch type ${JSON.stringify(patchType)}`)
}

function decodePatch(encoded: string): Json {
  try {
    return parseJson(Buffer.from(encoded, 'base64').toString())
  } catch (cause) {
    throw undecodable(String(cause), cause)
  }
}

function undecodable(why: string, cause?: unknown): WebhookError {
  return new WebhookError('bad-response', `received undecodable patch in webhook response: ${why}`, { cause })
}

function invalidResponse(why: string): WebhookError {
  return new WebhookError('bad-response', `received invalid webhook response: ${why}`)
}
