const enforce = 'kubernetes.io/enforce-mountable-secrets'
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The ServiceAccounts of the namespace in which the cases are tried. */
export const caseAccounts: readonly { readonly metadata: { readonly name: string } }[] = [
  { metadata: { name: 'default' } },
  named('quiet', { automountServiceAccountToken: false }),
  named('loud', { automountServiceAccountToken: true }),
  named('puller', { imagePullSecrets: [{ name: 'registry' }, { name: 'mirror' }] }),
  named('strict', { secrets: [{ name: 'tls' }], imagePullSecrets: [{ name: 'registry' }] }, { [enforce]: 'true' }),
  named('lenient', { secrets: [{ name: 'tls' }] }, { [enforce]: 'yes' }),
]

function named(name: string, fields: object, annotations: Readonly<Record<string, string>> = {}) {
  return { metadata: { name, annotations }, ...fields }
}

export interface AccountCase {
  readonly title: string
  readonly metadata?: object
  readonly spec: object
  /** Why it is refused, after `pods "web" is forbidden: `. */
  readonly refusal?: string
}

const main = { name: 'main', image: 'web:1' }
const spec = (fields: object, container: object = {}) => ({ containers: [{ ...main, ...container }], ...fields })
const strict = (fields: object, container: object = {}) => spec({ serviceAccountName: 'strict', ...fields }, container)
const fromSecret = (name: string) => [{ name: 'KEY', valueFrom: { secretKeyRef: { name, key: 'a' } } }]
const data = [{ name: 'data', emptyDir: {} }]
const lack = 'is not allowed because service account strict does not reference that'
const mirror = { annotations: { 'kubernetes.io/config.mirror': 'hash' } }
const onNode = (fields: object) => spec({ nodeName: 'node-1', ...fields })
const projected = (source: object) => [{ name: 'data', projected: { sources: [source] } }]

/** Pods called `web`, as Kubernetes' admission of ServiceAccounts completes or refuses them. */
export const accountCases: readonly AccountCase[] = [
  { title: 'no account', spec: spec({}) },
  { title: 'an account', spec: spec({ serviceAccountName: 'loud' }) },
  { title: 'the deprecated field', spec: spec({ serviceAccount: 'loud' }) },
  { title: 'both fields, which differ', spec: spec({ serviceAccountName: 'loud', serviceAccount: 'quiet' }) },
  { title: 'no token by the Pod', spec: spec({ automountServiceAccountToken: false }) },
  { title: 'no token by the account', spec: spec({ serviceAccountName: 'quiet' }) },
  {
    title: 'a token by the Pod, none by the account',
    spec: spec({ serviceAccountName: 'quiet', automountServiceAccountToken: true }),
  },
  {
    title: 'no token by the Pod, one by the account',
    spec: spec({ serviceAccountName: 'loud', automountServiceAccountToken: false }),
  },
  { title: 'Secrets to pull with', spec: spec({ serviceAccountName: 'puller' }) },
  {
    title: 'Secrets to pull with of its own',
    spec: spec({ serviceAccountName: 'puller', imagePullSecrets: [{ name: 'own' }] }),
  },
  {
    title: 'init containers and other volumes',
    spec: spec(
      { initContainers: [{ ...main, name: 'first' }], volumes: data },
      { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    ),
  },
  {
    title: 'a mount at the path in one container of two',
    spec: {
      containers: [
        { ...main, volumeMounts: [{ name: 'data', mountPath }] },
        { ...main, name: 'side' },
      ],
      volumes: data,
    },
  },
  {
    title: 'a mount at the path in each container',
    spec: spec({ volumes: data }, { volumeMounts: [{ name: 'data', mountPath }] }),
  },
  {
    title: 'a mount at the path with a slash behind it',
    spec: spec({ volumes: data }, { volumeMounts: [{ name: 'data', mountPath: `${mountPath}/` }] }),
  },
  {
    title: 'a volume with such a name',
    spec: spec({ volumes: [{ name: 'kube-api-access-mine', emptyDir: {} }] }),
  },
  { title: 'a generated name', metadata: { generateName: 'web-', name: undefined }, spec: spec({}) },
  {
    title: 'an account that is not there',
    spec: spec({ serviceAccountName: 'missing' }),
    refusal: 'error looking up service account default/missing: serviceaccount "missing" not found',
  },
  {
    title: 'Secrets that the account has',
    spec: strict({ volumes: [{ name: 'tls', secret: { secretName: 'tls' } }] }),
  },
  {
    title: 'a volume of another Secret',
    spec: strict({ volumes: [{ name: 'tls', secret: { secretName: 'other' } }] }),
    refusal: `volume with secret.secretName="other" ${lack} secret`,
  },
  {
    title: 'a variable of another Secret',
    spec: strict({}, { env: fromSecret('other') }),
    refusal: `container main with envVar KEY referencing secret.secretName="other" ${lack} secret`,
  },
  {
    title: 'variables of another Secret',
    spec: strict({}, { envFrom: [{ secretRef: { name: 'other' } }] }),
    refusal: `container main with envFrom referencing secret.secretName="other" ${lack} secret`,
  },
  {
    title: 'a variable of another Secret in an init container',
    spec: strict(
      { initContainers: [{ ...main, name: 'first', env: fromSecret('other') }] },
      { env: fromSecret('more') },
    ),
    refusal: `init container first with envVar KEY referencing secret.secretName="other" ${lack} secret`,
  },
  {
    title: 'another Secret to pull with',
    spec: strict({ imagePullSecrets: [{ name: 'registry' }, { name: 'other' }] }),
    refusal: `imagePullSecrets[1].name="other" ${lack} imagePullSecret`,
  },
  {
    title: 'a projected volume of another Secret, which is not looked at',
    spec: strict({ volumes: projected({ secret: { name: 'other' } }) }),
  },
  {
    title: 'another Secret with an annotation that is no truth value',
    spec: spec({ serviceAccountName: 'lenient' }, { env: fromSecret('other') }),
  },
  { title: 'a mirror pod', metadata: mirror, spec: onNode({}) },
  {
    title: 'a mirror pod with an account',
    metadata: mirror,
    spec: onNode({ serviceAccountName: 'default' }),
    refusal: 'a mirror pod may not reference service accounts',
  },
  {
    title: 'a mirror pod with a ConfigMap and a Secret',
    metadata: mirror,
    spec: onNode({
      volumes: [
        { name: 'a', configMap: { name: 'a' } },
        { name: 'b', secret: { secretName: 'b' } },
      ],
    }),
    refusal: 'a mirror pod may not reference secrets',
  },
  {
    title: 'a mirror pod with a token',
    metadata: mirror,
    spec: onNode({ volumes: projected({ serviceAccountToken: { path: 'token' } }) }),
    refusal: 'a mirror pod may not use ServiceAccountToken volume projections',
  },
]

export function podOfAccountCase({ metadata = {}, spec }: AccountCase) {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', ...metadata }, spec }
}
