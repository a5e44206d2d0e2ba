import type { ListOptions } from '../decode/query.ts'
import { type FieldError, forbiddenField, unsupportedField } from '../schema/field-error.ts'
import { badRequest, invalid } from '../status.ts'

const names = { group: 'meta.k8s.io', plural: 'listoptions', kind: 'ListOptions' }
const match = 'resourceVersionMatch'
const withContinue = forbiddenField(match, 'resourceVersionMatch is forbidden when continue is provided')

/** Checks the combination of list options as Kubernetes does: 422, or 400 for a revision with a continue token. */
export function assertListRules(options: ListOptions): void {
  refuse([...matchErrors(options), ...initialEventsErrors(options)])
  if (options.continue !== undefined && options.resourceVersion) {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
}

/**
 * Checks the combination of watch options. `sendInitialEvents` is accepted without resourceVersionMatch, which
 * Kubernetes refuses.
 */
export function assertWatchRules(options: ListOptions): void {
  const { resourceVersionMatch } = options
  if (resourceVersionMatch === undefined) return
  const errors: FieldError[] = []
  if (options.sendInitialEvents === undefined) {
    errors.push(forbiddenField(match, `${match} is forbidden for watch unless sendInitialEvents is provided`))
  }
  if (resourceVersionMatch !== 'NotOlderThan') {
    errors.push(unsupportedField(match, resourceVersionMatch, ['NotOlderThan']))
  }
  if (options.continue !== undefined) errors.push(withContinue)
  refuse(errors)
}

function matchErrors({ resourceVersion, resourceVersionMatch, ...options }: ListOptions): FieldError[] {
  if (resourceVersionMatch === undefined) return []
  const errors: FieldError[] = []
  if (resourceVersion === undefined) {
    errors.push(forbiddenField(match, 'resourceVersionMatch is forbidden unless resourceVersion is provided'))
  }
  if (options.continue !== undefined) errors.push(withContinue)
  if (resourceVersionMatch !== 'Exact' && resourceVersionMatch !== 'NotOlderThan') {
    errors.push(unsupportedField(match, resourceVersionMatch, ['Exact', 'NotOlderThan', '']))
  }
  if (resourceVersionMatch === 'Exact' && resourceVersion === 0) {
    errors.push(forbiddenField(match, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
  }
  return errors
}

function initialEventsErrors({ sendInitialEvents }: ListOptions): FieldError[] {
  if (sendInitialEvents === undefined) return []
  return [forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list')]
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid(names, '', errors)
}
