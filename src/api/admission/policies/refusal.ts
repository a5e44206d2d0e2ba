import type { ApiDocument } from '../../document.ts'
import { forbidden, StatusError, type StatusReason } from '../../status.ts'
import type { AdmissionRequest } from '../admission-request.ts'
import type { CompiledPolicy } from './policy.ts'

/** A failure that denies a request. */
export interface Denial {
  readonly policy: CompiledPolicy
  /** Undefined for a fault of the policy itself. */
  readonly binding: ApiDocument | undefined
  readonly message: string
  readonly reason: string
}

const reasons: readonly StatusReason[] = ['Forbidden', 'Invalid', 'RequestEntityTooLarge', 'Unauthorized']

/** Returns the Status of the first denial, in the words of kube-apiserver: a 422 where the policy names no other reason. */
export function refusalOf(request: AdmissionRequest, { policy, binding, message, reason }: Denial): StatusError {
  const by = binding === undefined ? '' : ` with binding '${binding.metadata.name}'`
  const why = `ValidatingAdmissionPolicy '${policy.name}'${by} denied request: ${message}`
  const metadata = request.object?.metadata
  const name = request.name || metadata?.name || metadata?.generateName || 'Unknown'
  const { message: text, details = {} } = forbidden(request.resource, name, why)
  const code = reasons.find((each) => each === reason) ?? 'Invalid'
  return new StatusError(code, text, { details: { ...details, causes: [{ message: why }] } })
}
