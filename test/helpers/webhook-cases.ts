import { type Answer, patching, sendReview } from './fake-webhook.ts'

interface Call {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the namespace of the case. */
  readonly path: string
  readonly body?: object
  /** Absent: `application/json`, of a PATCH a merge patch. */
  readonly contentType?: string
}

interface CaseWebhook {
  readonly type: 'mutating' | 'validating'
  /** Laid over a webhook for the creates of ConfigMaps in the namespace of the case. */
  readonly fields?: Readonly<Record<string, unknown>>
  /** Absent: the request is allowed. */
  readonly answer?: Answer
  /** Where it is reached instead of the test's server. */
  readonly clientConfig?: object
}

/** A request in a namespace of its own, with the webhooks that are asked about it. */
export interface WebhookCase {
  readonly title: string
  readonly webhooks: readonly CaseWebhook[]
  /** What is written before the request, in this order. */
  readonly before?: readonly Call[]
  readonly call: Call
  /** Why the message has other words than kube-apiserver's. */
  readonly words?: string
  /** Why this server asks once more than kube-apiserver. */
  readonly repeats?: string
}

const configMaps = '/api/v1/configmaps'
const create: Call = { method: 'POST', path: configMaps, body: { metadata: { name: 'a' }, data: { k: 'v' } } }
const made: readonly Call[] = [create]
const on = (operations: readonly string[], resources: readonly string[] = ['configmaps'], group = '') => ({
  rules: [{ operations, apiGroups: [group], apiVersions: ['*'], resources }],
})

function denying(status?: object): Answer {
  return { allowed: false, ...(status && { status }) }
}

function raw(code: number, type: string, body: string): Answer {
  return (response) => response.writeHead(code, { 'content-type': type }).end(body)
}

function one(
  title: string,
  type: CaseWebhook['type'],
  answer: Answer | undefined,
  fields: CaseWebhook['fields'] = {},
  more: Partial<WebhookCase> = {},
): WebhookCase {
  return { title, webhooks: [{ type, fields, ...(answer && { answer }) }], call: create, ...more }
}

const addLabel = (name: string) => patching({ op: 'add', path: '/metadata/labels', value: { [name]: 'yes' } })

const verdicts: readonly WebhookCase[] = [
  one('an allowed create', 'validating', undefined),
  one('an allowed create, with warnings', 'validating', { warnings: ['first', 'second'] }),
  one('a denied create without a Status', 'validating', denying()),
  one('a denied create with a message', 'validating', denying({ message: 'no' })),
  one('a denied create with a code and a reason', 'validating', denying({ code: 403, reason: 'Forbidden' })),
  one(
    'a denied create with a Status of success',
    'validating',
    denying({ status: 'Success', code: 200, message: 'm' }),
  ),
  one(
    'a denied create with details',
    'validating',
    denying({
      code: 418,
      message: 'm',
      reason: 'Tea',
      details: { name: 'n', causes: [{ reason: 'R', message: 'c' }] },
    }),
  ),
  one('a denied create, with a warning', 'validating', { allowed: false, warnings: ['w'], status: { message: 'no' } }),
  one('a create that a mutating webhook denies', 'mutating', denying({ message: 'no' })),
  one('a create whose webhook may fail, and denies', 'validating', denying({ message: 'no' }), {
    failurePolicy: 'Ignore',
  }),
]

const failures: readonly WebhookCase[] = [
  ...(['Fail', 'Ignore'] as const).flatMap((failurePolicy): readonly WebhookCase[] => [
    one(`another uid (${failurePolicy})`, 'validating', { uid: 'other' }, { failurePolicy }),
    one(`the status 500 with a text (${failurePolicy})`, 'validating', raw(500, 'text/plain', 'broken\n'), {
      failurePolicy,
    }),
    {
      ...one(`nothing that listens (${failurePolicy})`, 'validating', undefined, { failurePolicy }),
      webhooks: [{ type: 'validating', fields: { failurePolicy }, clientConfig: { url: 'https://127.0.0.1:1/a' } }],
    },
    {
      ...one(`an answer that is late (${failurePolicy})`, 'validating', undefined),
      webhooks: [
        {
          type: 'validating',
          fields: { failurePolicy, timeoutSeconds: 1 },
          answer: (response, review) => setTimeout(() => sendReview(response, review, {}), 1_500),
        },
      ],
    },
  ]),
  ...[400, 401, 403, 404, 405, 409, 415, 418, 422, 429, 502, 503, 504].map((code) =>
    one(`the status ${code}`, 'validating', raw(code, 'text/plain', 'the text')),
  ),
  one('the status 500 with JSON', 'validating', raw(500, 'application/json', '{}')),
  one('no response in the review', 'validating', (response, { apiVersion, kind }) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ apiVersion, kind })),
  ),
  one('a review without a kind', 'validating', (response, { request }) => sendReview(response, { request }, {})),
  {
    ...one('a review of another kind', 'validating', (response, review) =>
      sendReview(response, { ...review, kind: 'Other' }, {}),
    ),
    words: 'Kubernetes names its registry of types',
  },
  {
    ...one('a body that is no JSON', 'validating', raw(200, 'application/json', 'hello')),
    words: 'a decoder names the error in its own words',
  },
  {
    ...one('a connection that ends', 'validating', (response) => response.destroy()),
    repeats: 'a kept connection may have ended before the question came',
  },
  one('a validating webhook with a patch', 'validating', addLabel('a')),
  one('a patch without a type', 'mutating', { patch: 'W10=' }),
  one('a type without a patch', 'mutating', { patchType: 'JSONPatch' }),
  one('another type of patch', 'mutating', { ...addLabel('a'), patchType: 'Merge' }),
  {
    ...one('a patch that is no list', 'mutating', { patchType: 'JSONPatch', patch: 'e30=' }),
    words: 'a decoder names the error in its own words',
  },
  {
    ...one('a patch of a path that there is not', 'mutating', patching({ op: 'remove', path: '/data/x' })),
    words: 'the library of patches has its own words',
  },
  {
    ...one('a service that there is not', 'validating', undefined),
    webhooks: [{ type: 'validating', clientConfig: { service: { namespace: 'default', name: 'none', path: '/x' } } }],
  },
]

const changes: readonly WebhookCase[] = [
  one('an added label', 'mutating', addLabel('a')),
  one('an empty patch', 'mutating', patching()),
  one('a changed value', 'mutating', patching({ op: 'replace', path: '/data/k', value: 'other' })),
  one('a change that makes the object invalid', 'mutating', patching({ op: 'add', path: '/data/a b', value: 'v' })),
  one('a change of the name', 'mutating', patching({ op: 'replace', path: '/metadata/name', value: 'b' })),
  {
    ...one('a change of the type of a field', 'mutating', patching({ op: 'add', path: '/data', value: 'text' })),
    words: 'a decoder names the error in its own words',
  },
  one('an unknown field', 'mutating', patching({ op: 'add', path: '/other', value: 1 })),
  {
    title: 'two webhooks, the second of which sees the change of the first',
    webhooks: [
      { type: 'mutating', answer: addLabel('a') },
      { type: 'mutating', answer: patching({ op: 'add', path: '/metadata/labels/b', value: 'yes' }) },
      { type: 'validating' },
    ],
    call: create,
  },
  {
    title: 'a webhook that is asked again',
    webhooks: [
      { type: 'mutating', fields: { reinvocationPolicy: 'IfNeeded' } },
      { type: 'mutating', fields: { reinvocationPolicy: 'Never' } },
      { type: 'mutating', answer: addLabel('a') },
    ],
    call: create,
  },
  {
    title: 'a webhook that is asked again and changes the object each time',
    webhooks: [
      {
        type: 'mutating',
        fields: { reinvocationPolicy: 'IfNeeded' },
        answer: patching({ op: 'add', path: '/data/n', value: 'x' }),
      },
      {
        type: 'mutating',
        fields: { reinvocationPolicy: 'IfNeeded' },
        answer: patching({ op: 'add', path: '/data/m', value: 'y' }),
      },
    ],
    call: create,
  },
  {
    title: 'defaults between two webhooks',
    webhooks: [
      {
        type: 'mutating',
        fields: on(['CREATE'], ['deployments'], 'apps'),
        answer: patching({ op: 'add', path: '/spec/template/spec/containers/-', value: { name: 'b', image: 'b' } }),
      },
      { type: 'mutating', fields: on(['CREATE'], ['deployments'], 'apps') },
    ],
    call: deployment(),
  },
]

const dryRuns: readonly WebhookCase[] = [
  one('a dry run', 'validating', undefined, {}, { call: { ...create, path: `${configMaps}?dryRun=All` } }),
  one(
    'a dry run with side effects that know dry runs',
    'mutating',
    addLabel('a'),
    { sideEffects: 'NoneOnDryRun' },
    { call: { ...create, path: `${configMaps}?dryRun=All&fieldManager=m` } },
  ),
]

const operations: readonly WebhookCase[] = [
  one('an update', 'validating', undefined, on(['UPDATE']), {
    before: made,
    call: { method: 'PUT', path: `${configMaps}/a`, body: { metadata: { name: 'a' }, data: { k: 'w' } } },
  }),
  one('an update that changes nothing', 'validating', undefined, on(['UPDATE']), {
    before: made,
    call: { method: 'PUT', path: `${configMaps}/a`, body: { metadata: { name: 'a' }, data: { k: 'v' } } },
  }),
  one(
    'a patch that a webhook changes',
    'mutating',
    patching({ op: 'add', path: '/data/x', value: 'y' }),
    on(['UPDATE']),
    {
      before: made,
      call: { method: 'PATCH', path: `${configMaps}/a`, body: { data: { k: 'w' } } },
    },
  ),
  one('an apply that creates', 'mutating', addLabel('a'), on(['CREATE', 'UPDATE']), {
    call: {
      method: 'PATCH',
      path: `${configMaps}/a?fieldManager=m`,
      contentType: 'application/apply-patch+yaml',
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } },
    },
  }),
  one(
    'a generated name',
    'validating',
    undefined,
    {},
    {
      call: { ...create, body: { metadata: { generateName: 'a-' } } },
    },
  ),
  one('a denied delete', 'validating', denying({ message: 'kept' }), on(['DELETE']), {
    before: made,
    call: { method: 'DELETE', path: `${configMaps}/a` },
  }),
  one('a delete with options', 'validating', undefined, on(['DELETE']), {
    before: made,
    call: { method: 'DELETE', path: `${configMaps}/a?propagationPolicy=Background` },
  }),
  one('a patch of a delete', 'mutating', addLabel('a'), on(['DELETE']), {
    before: made,
    call: { method: 'DELETE', path: `${configMaps}/a` },
  }),
  one('a deleted collection', 'validating', undefined, on(['DELETE']), {
    before: made,
    call: { method: 'DELETE', path: configMaps },
  }),
  one('a status', 'validating', undefined, on(['UPDATE'], ['*/status'], 'apps'), {
    before: [deployment()],
    call: {
      method: 'PATCH',
      path: '/apis/apps/v1/deployments/d/status',
      body: { status: { observedGeneration: 1 } },
    },
  }),
  one('a scale', 'validating', undefined, on(['UPDATE'], ['deployments/scale'], 'apps'), {
    before: [deployment()],
    call: { method: 'PATCH', path: '/apis/apps/v1/deployments/d/scale', body: { spec: { replicas: 3 } } },
  }),
  one(
    'a scale that a webhook changes',
    'mutating',
    patching({ op: 'replace', path: '/spec/replicas', value: 2 }),
    on(['UPDATE'], ['deployments/scale'], 'apps'),
    {
      before: [deployment()],
      call: { method: 'PATCH', path: '/apis/apps/v1/deployments/d/scale', body: { spec: { replicas: 3 } } },
    },
  ),
  one('a subresource that no rule names', 'validating', denying(), on(['UPDATE'], ['deployments'], 'apps'), {
    before: [deployment()],
    call: { method: 'PATCH', path: '/apis/apps/v1/deployments/d/scale', body: { spec: { replicas: 3 } } },
  }),
  one('an equivalent version', 'validating', undefined, autoscalers('v1'), {
    call: { method: 'POST', path: '/apis/autoscaling/v2/horizontalpodautoscalers', body: autoscaler() },
  }),
  one(
    'an equivalent version that is not wanted',
    'validating',
    denying(),
    { ...autoscalers('v1'), matchPolicy: 'Exact' },
    {
      call: { method: 'POST', path: '/apis/autoscaling/v2/horizontalpodautoscalers', body: autoscaler() },
    },
  ),
]

const matching: readonly WebhookCase[] = [
  one(
    'an object selector that matches',
    'validating',
    denying(),
    { objectSelector: { matchLabels: { a: 'b' } } },
    {
      call: { ...create, body: { metadata: { name: 'a', labels: { a: 'b' } } } },
    },
  ),
  one('an object selector that does not match', 'validating', denying(), {
    objectSelector: { matchLabels: { a: 'b' } },
  }),
  one('a condition that holds', 'validating', denying(), {
    matchConditions: [{ name: 'a', expression: "object.data.k == 'v'" }],
  }),
  one('a condition that does not hold', 'validating', denying(), {
    matchConditions: [{ name: 'a', expression: "object.data.k != 'v'" }],
  }),
  one('a condition about the request', 'validating', denying(), {
    matchConditions: [
      { name: 'a', expression: "request.operation == 'CREATE' && request.name == 'a'" },
      { name: 'b', expression: "'system:masters' in request.userInfo.groups" },
    ],
  }),
  one('a condition that asks for permission', 'validating', denying(), {
    matchConditions: [
      { name: 'a', expression: "authorizer.group('').resource('pods').namespace('default').check('get').allowed()" },
    ],
  }),
  ...(['Fail', 'Ignore'] as const).map((failurePolicy) =>
    one(`a condition that fails (${failurePolicy})`, 'validating', undefined, {
      failurePolicy,
      matchConditions: [{ name: 'a', expression: "object.data.missing == 'v'" }],
    }),
  ),
  one('a condition that fails beside one that does not hold', 'validating', denying(), {
    matchConditions: [
      { name: 'a', expression: "object.data.missing == 'v'" },
      { name: 'b', expression: 'false' },
    ],
  }),
]

const versions: readonly WebhookCase[] = [
  one(
    'the beta of the review',
    'mutating',
    { patch: patching({ op: 'add', path: '/data/x', value: 'y' })['patch'] },
    {
      admissionReviewVersions: ['v9', 'v1beta1', 'v1'],
    },
  ),
]

function deployment(): Call {
  const labels = { app: 'd' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  return {
    method: 'POST',
    path: '/apis/apps/v1/deployments',
    body: { metadata: { name: 'd' }, spec: { replicas: 1, selector: { matchLabels: labels }, template } },
  }
}

function autoscalers(version: string) {
  const rule = { operations: ['CREATE'], apiGroups: ['autoscaling'], apiVersions: [version] }
  return { rules: [{ ...rule, resources: ['horizontalpodautoscalers'] }] }
}

function autoscaler() {
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
  return { metadata: { name: 'a' }, spec: { scaleTargetRef, maxReplicas: 3 } }
}

export const webhookCases: readonly WebhookCase[] = [
  ...verdicts,
  ...failures,
  ...changes,
  ...dryRuns,
  ...operations,
  ...matching,
  ...versions,
]
