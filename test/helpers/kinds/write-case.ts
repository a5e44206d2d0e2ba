/** One write and what kube-apiserver 1.34 answers to it. */
export interface WriteCase {
  readonly title: string
  readonly method: 'POST' | 'PUT' | 'PATCH'
  readonly path: string
  readonly body: object
  /** Absent: 201 for a POST and 200 for others where there are no causes, else 422. */
  readonly code?: number
  /** The Status' reason; absent: `Invalid` where there are causes. */
  readonly reason?: string
  /** `Invalid spec.rules[0].host`: the cause's type without `FieldValue`, and its field. In any order, each once. */
  readonly causes: readonly string[]
  /** Why the API core answers something else on purpose; the fields above are then its answer. */
  readonly differs?: string
  /** Why the API core says the same in other words. */
  readonly words?: string
}

/** An object that must exist before the cases run. */
export interface Fixture {
  readonly path: string
  readonly body: { readonly metadata: { readonly name: string }; readonly [field: string]: unknown }
  /** Written after it was created. */
  readonly status?: object
}

/** The writes that make a fixture. */
export function writesOf({ path, body, status }: Fixture): readonly Request[] {
  const make = { method: 'POST', path, body, contentType: 'application/json' }
  if (status === undefined) return [make]
  const contentType = 'application/merge-patch+json'
  return [make, { method: 'PATCH', path: `${path}/${body.metadata.name}/status`, body: { status }, contentType }]
}

export interface Request {
  readonly method: string
  readonly path: string
  readonly body: object
  readonly contentType: string
}

export interface KindCases {
  readonly title: string
  readonly fixtures: readonly Fixture[]
  readonly cases: readonly WriteCase[]
  /** The networks of Services, where the cluster has not only its usual one. */
  readonly serviceRanges?: string
}

export const usualServiceRange = '10.96.0.0/16'

export type Expected = Pick<WriteCase, 'code' | 'reason' | 'differs' | 'words'>

/** Makes creates: each lays its members over those of a valid object. */
export function creates(path: string, valid: object) {
  return (title: string, change: object, causes: readonly string[] = [], answer: Expected = {}): WriteCase => ({
    title,
    method: 'POST',
    path,
    body: { ...valid, ...change },
    causes,
    ...answer,
  })
}

/** Makes merge patches of an object that exists. */
export function changes(path: string) {
  return (title: string, body: object, causes: readonly string[] = [], answer: Expected = {}): WriteCase => ({
    title,
    method: 'PATCH',
    path,
    body,
    causes,
    ...answer,
  })
}

/** Makes replacements of an object that exists. */
export function replaces(path: string, valid: object) {
  return (title: string, change: object, causes: readonly string[] = [], answer: Expected = {}): WriteCase => ({
    title,
    method: 'PUT',
    path,
    body: { ...valid, ...change },
    causes,
    ...answer,
  })
}

/** Reasons for messages that differ from those of Kubernetes for the same errors. */
export const otherWords = {
  firstFault: { words: 'the API core names the first of several faults of a text' },
  keyRule: { words: 'the API core has one text for all faults of a label key' },
  goFields: { words: 'Kubernetes prints the fields of its Go type' },
  goType: { words: 'Kubernetes names its Go type' },
} satisfies Record<string, Expected>

/** An empty text counts as absent where a field has a default: of most fields Kubernetes has it so too. */
export const emptyIsAbsent: Expected = { differs: 'an empty text counts as absent where a field has a default' }

/** What a server answered, in the parts that the table compares. */
export interface Verdict {
  readonly code: number
  readonly reason: string | undefined
  /** Each once, sorted. */
  readonly causes: readonly string[]
}

interface Reply {
  readonly code: number
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  readonly body: any
}

interface Cause {
  readonly reason: string
  readonly field: string
  readonly message: string
}

export function verdictOf({ code, body }: Reply): Verdict {
  const causes = causesOf(body).map(({ reason, field }) => `${reason.replace('FieldValue', '')} ${field}`)
  return { code, reason: code < 400 ? undefined : body?.reason, causes: onceSorted(causes) }
}

export function expectedOf(each: WriteCase): Verdict {
  return { code: codeOf(each), reason: reasonOf(each), causes: onceSorted(each.causes) }
}

/** The messages of the causes, each once, sorted. The object's name is left out: a server may have made it. */
export function messagesOf({ body }: Reply): readonly string[] {
  const name = body?.details?.name ?? ''
  const texts = causesOf(body).map(({ field, message }) => `${field}: ${message}`)
  return onceSorted(name === '' ? texts : texts.map((text) => text.replaceAll(name, '(its name)')))
}

function causesOf(body: { readonly details?: { readonly causes?: readonly Cause[] } } | undefined): readonly Cause[] {
  return body?.details?.causes ?? []
}

function onceSorted(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].toSorted()
}

/** The dry run of a case, in a form that a client of any server sends. */
export function requestOf({ method, path, body }: WriteCase): Request {
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  return { method, path: `${path}?dryRun=All`, body, contentType }
}

function codeOf({ method, causes, code }: WriteCase): number {
  if (code !== undefined) return code
  if (causes.length > 0) return 422
  return method === 'POST' ? 201 : 200
}

function reasonOf({ causes, reason }: WriteCase): string | undefined {
  return reason ?? (causes.length > 0 ? 'Invalid' : undefined)
}
