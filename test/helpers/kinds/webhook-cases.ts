import { change, create, type Fields, type Kind, type ObjectCase, objectCases, replace } from './object-case.ts'

const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }
const service = { namespace: 'default', name: 'hook' }
const webhook = {
  name: 'a.example.com',
  clientConfig: { service },
  rules: [rule],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
}

/** Lays fields over those of a valid webhook; undefined takes one away. */
function hook(fields: Fields): Fields {
  return Object.fromEntries(Object.entries({ ...webhook, ...fields }).filter(([, value]) => value !== undefined))
}

function hooks(...all: readonly Fields[]): Fields {
  return { webhooks: all.map(hook) }
}

const rules = (fields: Fields) => hooks({ rules: [{ ...rule, ...fields }] })
const url = (text: string) => hooks({ clientConfig: { url: text } })
const path = (text: string) => hooks({ clientConfig: { service: { ...service, path: text } } })
const condition = (expression: string, name = 'a') => ({ name, expression })
const conditions = (...list: readonly Fields[]) => hooks({ matchConditions: list })

const first = 'webhooks[0]'
const atRule = `${first}.rules[0]`
const atUrl = `${first}.clientConfig.url`
const atPath = `${first}.clientConfig.service.path`
const atCondition = `${first}.matchConditions[0]`

const ofBoth: readonly ObjectCase[] = [
  create('nothing special', {}),
  create('no webhooks', { webhooks: [] }),
  create('a name in capitals', { metadata: { name: 'New' } }, 'Invalid metadata.name'),
  create('all policies', hooks({ failurePolicy: 'Ignore', matchPolicy: 'Exact', sideEffects: 'NoneOnDryRun' })),
  create('a failure policy that is none', hooks({ failurePolicy: 'Try' }), `NotSupported ${first}.failurePolicy`),
  create('a match policy that is none', hooks({ matchPolicy: 'Any' }), `NotSupported ${first}.matchPolicy`),
  create('no side effects named', hooks({ sideEffects: undefined }), `Required ${first}.sideEffects`),
  create('some side effects', hooks({ sideEffects: 'Some' }), `NotSupported ${first}.sideEffects`),
  create('unknown side effects', hooks({ sideEffects: 'Unknown' }), `NotSupported ${first}.sideEffects`),
  create('the longest timeout', hooks({ timeoutSeconds: 30 })),
  create('a longer timeout', hooks({ timeoutSeconds: 31 }), `Invalid ${first}.timeoutSeconds`),
  create('no time', hooks({ timeoutSeconds: 0 }), `Invalid ${first}.timeoutSeconds`),
  create('no name', hooks({ name: undefined }), `Required ${first}.name`),
  create('a name of two parts', hooks({ name: 'example.com' }), `Invalid ${first}.name`),
  create('a webhook name in capitals', hooks({ name: 'A.example.com' }), `Invalid ${first}.name`),
  create('a name twice', hooks({}, {}), 'Duplicate webhooks[1].name'),
  create('two webhooks', hooks({}, { name: 'b.example.com' })),
  create('no review versions', hooks({ admissionReviewVersions: [] }), `Required ${first}.admissionReviewVersions`),
  create(
    'an unknown review version',
    hooks({ admissionReviewVersions: ['v9'] }),
    `Invalid ${first}.admissionReviewVersions`,
  ),
  create('an unknown review version beside a known one', hooks({ admissionReviewVersions: ['v9', 'v1beta1'] })),
  create(
    'review versions twice and in capitals',
    hooks({ admissionReviewVersions: ['v1', 'v1', 'V2'] }),
    `Invalid ${first}.admissionReviewVersions[1]`,
    `Invalid ${first}.admissionReviewVersions[2]`,
  ),
  create('selectors', hooks({ namespaceSelector: { matchLabels: { a: 'b' } }, objectSelector: {} })),
  create(
    'selectors that are none',
    hooks({
      namespaceSelector: { matchLabels: { 'a b': 'c' } },
      objectSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] },
    }),
    `Invalid ${first}.namespaceSelector.matchLabels`,
    `Invalid ${first}.objectSelector.matchExpressions[0].operator`,
  ),
]

const rulesOfBoth: readonly ObjectCase[] = [
  create('no rules', hooks({ rules: [] })),
  create(
    'an empty rule',
    hooks({ rules: [{}] }),
    ...['operations', 'apiGroups', 'apiVersions', 'resources'].map((field) => `Required ${atRule}.${field}`),
  ),
  create('everything', rules({ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] })),
  create('a scope', rules({ scope: 'Namespaced' })),
  create('a scope that is none', rules({ scope: 'Everywhere' }), `NotSupported ${atRule}.scope`),
  create('an operation that is none', rules({ operations: ['GET'] }), `NotSupported ${atRule}.operations[0]`),
  create(
    'wildcards beside others',
    rules({ operations: ['*', 'CREATE'], apiGroups: ['*', ''], apiVersions: ['*', 'v1'], resources: ['*/*', 'pods'] }),
    ...['operations', 'apiGroups', 'apiVersions', 'resources'].map((field) => `Invalid ${atRule}.${field}`),
  ),
  create(
    'empty versions and resources',
    rules({ apiVersions: [''], resources: [''] }),
    `Required ${atRule}.apiVersions[0]`,
    `Required ${atRule}.resources[0]`,
  ),
  create('all resources beside one', rules({ resources: ['*', 'pods'] }), `Invalid ${atRule}.resources`),
  create('one beside all resources', rules({ resources: ['pods', '*'] })),
  create('a resource with its subresources', rules({ resources: ['pods', 'pods/*', '*/scale'] })),
  create(
    'subresources that others cover',
    rules({ resources: ['pods/*', 'pods/status', '*/scale', 'deployments/scale'] }),
    `Invalid ${atRule}.resources[1]`,
    `Invalid ${atRule}.resources[3]`,
  ),
]

const clientsOfBoth: readonly ObjectCase[] = [
  create('a URL', url('https://hook.example.com:8443/validate')),
  create('a URL on loopback', url('https://127.0.0.1:8443')),
  create('no client', hooks({ clientConfig: {} }), `Required ${first}.clientConfig`),
  create(
    'a URL and a Service',
    hooks({ clientConfig: { url: 'https://a.example.com', service } }),
    `Required ${first}.clientConfig`,
  ),
  create('a URL without TLS', url('http://hook.example.com'), `Invalid ${atUrl}`),
  create('a URL without a host', url('https:///validate'), `Invalid ${atUrl}`),
  create('a text that is no URL', url('hook'), `Invalid ${atUrl}`),
  create('an empty URL', url(''), `Invalid ${atUrl}`),
  create(
    'a URL with a user, a query and a fragment',
    url('https://user:pass@hook.example.com/?a=b#c'),
    `Invalid ${atUrl}`,
  ),
  {
    ...create('a URL with a port that is none', url('https://hook.example.com:a'), `Required ${atUrl}`),
    words: 'Kubernetes shows the error of its parser',
  },
  create(
    'a Service without names',
    hooks({ clientConfig: { service: {} } }),
    `Required ${first}.clientConfig.service.name`,
    `Required ${first}.clientConfig.service.namespace`,
  ),
  create(
    'a port that is none',
    hooks({ clientConfig: { service: { ...service, port: 65_536 } } }),
    `Invalid ${first}.clientConfig.service.port`,
  ),
  create('a path', path('/validate/pods/')),
  create('the empty path', path('')),
  create('the root', path('/')),
  create('a path without a slash', path('validate'), `Invalid ${atPath}`),
  create('a path with empty parts', path('/a//b'), `Invalid ${atPath}`),
  create('only slashes', path('//'), `Invalid ${atPath}`),
  create('a path in capitals', path('/Validate'), `Invalid ${atPath}`),
  {
    ...create('a bundle that is no base64', hooks({ clientConfig: { service, caBundle: '!' } })),
    code: 400,
    reason: 'BadRequest',
    words: 'a decoder names the error in its own words',
  },
]

const conditionsOfBoth: readonly ObjectCase[] = [
  create('a condition', conditions(condition("request.operation == 'CREATE' && object.metadata.name != 'a'"))),
  create(
    'a condition that asks for permission',
    conditions(condition("authorizer.path('/healthz').check('get').allowed()")),
  ),
  create('a condition without a name', conditions({ expression: 'true' }), `Required ${atCondition}.name`),
  create('a condition with a name that is none', conditions(condition('true', 'a b')), `Invalid ${atCondition}.name`),
  create('an empty condition', conditions(condition(' ')), `Required ${atCondition}.expression`),
  create('a condition that cannot be compiled', conditions(condition('object.')), `Invalid ${atCondition}.expression`),
  create('a condition that is a text', conditions(condition("'a'")), `Invalid ${atCondition}.expression`),
  create(
    'a condition with an unknown variable',
    conditions(condition('params.a')),
    `Invalid ${atCondition}.expression`,
  ),
  create(
    'a condition name twice',
    conditions(condition('true'), condition('true')),
    `Duplicate ${first}.matchConditions[1].name`,
  ),
  create(
    'too many conditions',
    conditions(...Array.from({ length: 65 }, (_, index) => condition('true', `c${index}`))),
    `TooMany ${first}.matchConditions`,
  ),
  change('the webhooks', {}, hooks({ failurePolicy: 'Ignore' })),
  change('to an invalid webhook', {}, hooks({ timeoutSeconds: 0 }), `Invalid ${first}.timeoutSeconds`),
  replace('the object without its revision', {}, {}, 'Invalid metadata.resourceVersion'),
]

const all = [...ofBoth, ...rulesOfBoth, ...clientsOfBoth, ...conditionsOfBoth]

function kindOf(plural: string): Kind {
  const collection = `/apis/admissionregistration.k8s.io/v1/${plural}`
  return { collection, valid: { metadata: { name: 'new' }, webhooks: [webhook] } }
}

export const validatingWebhookCases = objectCases(
  'ValidatingWebhookConfigurations',
  kindOf('validatingwebhookconfigurations'),
  all,
)

export const mutatingWebhookCases = objectCases(
  'MutatingWebhookConfigurations',
  kindOf('mutatingwebhookconfigurations'),
  [
    ...all,
    create('a reinvocation policy', hooks({ reinvocationPolicy: 'IfNeeded' })),
    create(
      'a reinvocation policy that is none',
      hooks({ reinvocationPolicy: 'Always' }),
      `NotSupported ${first}.reinvocationPolicy`,
    ),
  ],
)
