import type { FullObject } from './full-objects.ts'
import { certificateOfAnn, requestOfAnn } from './signing-request-cases.ts'

const inDefault = '/namespaces/default'
const metadata = { name: 'full', labels: { a: 'b' }, annotations: { c: 'd' } }
const time = '2026-01-01T00:00:00Z'

const matchedByPolicy = {
  namespaceSelector: { matchLabels: { a: 'b' } },
  objectSelector: { matchLabels: { a: 'b' } },
  resourceRules: [
    {
      resourceNames: ['a'],
      operations: ['CREATE'],
      apiGroups: ['apps'],
      apiVersions: ['v1'],
      resources: ['deployments'],
      scope: 'Namespaced',
    },
  ],
  excludeResourceRules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['*'], resources: ['pods/*'], scope: '*' }],
  matchPolicy: 'Exact',
}

const webhookAtUrl = {
  name: 'b.example.com',
  clientConfig: { url: 'https://hook.example.com/validate' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
}

function fullWebhook(name: string, kind: string) {
  const selector = { matchLabels: { a: 'b' } }
  return {
    name,
    clientConfig: {
      service: { namespace: 'default', name: 'hook', path: '/mutate', port: 8443 },
      caBundle: certificateOfAnn,
    },
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], scope: 'Namespaced' }],
    failurePolicy: 'Ignore',
    matchPolicy: 'Exact',
    namespaceSelector: selector,
    objectSelector: selector,
    sideEffects: 'NoneOnDryRun',
    timeoutSeconds: 5,
    admissionReviewVersions: ['v1', 'v1beta1'],
    matchConditions: [{ name: 'a', expression: 'true' }],
    ...(kind.startsWith('Mutating') ? { reinvocationPolicy: 'IfNeeded' } : {}),
  }
}

/** Jobs, and the kinds that bound what others may do. */
export const fullPolicies: readonly FullObject[] = [
  {
    kind: 'Job',
    path: `/apis/batch/v1${inDefault}/jobs`,
    body: {
      metadata,
      spec: {
        parallelism: 2,
        completions: 3,
        activeDeadlineSeconds: 100,
        backoffLimit: 2,
        backoffLimitPerIndex: 1,
        maxFailedIndexes: 2,
        ttlSecondsAfterFinished: 60,
        completionMode: 'Indexed',
        suspend: true,
        podReplacementPolicy: 'Failed',
        managedBy: 'example.com/queue',
        podFailurePolicy: {
          rules: [
            { action: 'FailJob', onExitCodes: { containerName: 'main', operator: 'In', values: [1, 2] } },
            { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          ],
        },
        successPolicy: { rules: [{ succeededIndexes: '0-1', succeededCount: 1 }] },
        template: {
          metadata: { labels: { a: 'b' } },
          spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'i' }] },
        },
      },
    },
    status: {
      startTime: time,
      active: 2,
      ready: 1,
      terminating: 1,
      succeeded: 1,
      failed: 1,
      completedIndexes: '0',
      failedIndexes: '1',
      uncountedTerminatedPods: { succeeded: ['a'], failed: ['b'] },
      conditions: [
        {
          type: 'FailureTarget',
          status: 'True',
          lastProbeTime: time,
          lastTransitionTime: time,
          reason: 'R',
          message: 'm',
        },
      ],
    },
  },
  {
    kind: 'CronJob',
    path: `/apis/batch/v1${inDefault}/cronjobs`,
    body: {
      metadata,
      spec: {
        schedule: '0 * * * *',
        timeZone: 'Europe/Berlin',
        startingDeadlineSeconds: 10,
        concurrencyPolicy: 'Forbid',
        suspend: true,
        successfulJobsHistoryLimit: 1,
        failedJobsHistoryLimit: 2,
        jobTemplate: {
          metadata: { labels: { a: 'b' }, annotations: { c: 'd' } },
          spec: { template: { spec: { restartPolicy: 'OnFailure', containers: [{ name: 'main', image: 'i' }] } } },
        },
      },
    },
    status: {
      active: [
        {
          kind: 'Job',
          apiVersion: 'batch/v1',
          namespace: 'default',
          name: 'j',
          uid: 'u',
          resourceVersion: '1',
          fieldPath: 'f',
        },
      ],
      lastScheduleTime: time,
      lastSuccessfulTime: time,
    },
  },
  {
    kind: 'PriorityClass',
    path: '/apis/scheduling.k8s.io/v1/priorityclasses',
    body: { metadata, value: 5, globalDefault: true, description: 'd', preemptionPolicy: 'Never' },
  },
  {
    kind: 'LimitRange',
    path: `/api/v1${inDefault}/limitranges`,
    body: {
      metadata,
      spec: {
        limits: [
          {
            type: 'Container',
            max: { cpu: '2' },
            min: { cpu: '1' },
            default: { cpu: '2' },
            defaultRequest: { cpu: '1' },
            maxLimitRequestRatio: { cpu: '2' },
          },
        ],
      },
    },
  },
  {
    kind: 'PodDisruptionBudget',
    path: `/apis/policy/v1${inDefault}/poddisruptionbudgets`,
    body: {
      metadata,
      spec: {
        minAvailable: '50%',
        selector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }] },
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
      },
    },
    status: {
      observedGeneration: 1,
      disruptedPods: { p: time },
      disruptionsAllowed: 1,
      currentHealthy: 2,
      desiredHealthy: 1,
      expectedPods: 2,
      conditions: [
        {
          type: 'DisruptionAllowed',
          status: 'True',
          reason: 'R',
          message: 'm',
          lastTransitionTime: time,
          observedGeneration: 1,
        },
      ],
    },
  },
  {
    kind: 'ResourceQuota',
    path: `/api/v1${inDefault}/resourcequotas`,
    body: {
      metadata,
      spec: {
        hard: { pods: '5', 'requests.cpu': '2' },
        scopes: ['NotTerminating'],
        scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] },
      },
    },
    status: { hard: { pods: '5' }, used: { pods: '1' } },
  },
  {
    kind: 'ReplicationController',
    path: `/api/v1${inDefault}/replicationcontrollers`,
    body: {
      metadata,
      spec: {
        replicas: 2,
        minReadySeconds: 1,
        selector: { a: 'b' },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'main', image: 'i' }] } },
      },
    },
    status: { replicas: 2, readyReplicas: 1, availableReplicas: 1, fullyLabeledReplicas: 1, observedGeneration: 1 },
  },
  {
    kind: 'PodTemplate',
    path: `/api/v1${inDefault}/podtemplates`,
    body: {
      metadata,
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'main', image: 'i' }] } },
    },
  },
  {
    kind: 'RuntimeClass',
    path: '/apis/node.k8s.io/v1/runtimeclasses',
    body: {
      metadata,
      handler: 'sandbox',
      overhead: { podFixed: { cpu: '250m' } },
      scheduling: {
        nodeSelector: { sandbox: 'yes' },
        tolerations: [{ key: 'sandbox', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
      },
    },
  },
  {
    kind: 'CertificateSigningRequest',
    path: '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    body: {
      metadata,
      spec: {
        request: requestOfAnn,
        usages: ['digital signature', 'client auth'],
        signerName: 'example.com/own',
        expirationSeconds: 3600,
      },
    },
    status: {
      certificate: certificateOfAnn,
      conditions: [
        { type: 'Failed', status: 'True', reason: 'R', message: 'm', lastUpdateTime: time, lastTransitionTime: time },
      ],
    },
  },
  {
    kind: 'ValidatingAdmissionPolicy',
    path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    body: {
      metadata,
      spec: {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        matchConstraints: matchedByPolicy,
        matchConditions: [{ name: 'a', expression: 'true' }],
        variables: [{ name: 'a', expression: '1' }],
        validations: [{ expression: 'variables.a == 1', message: 'm', messageExpression: "'m'", reason: 'Forbidden' }],
        failurePolicy: 'Ignore',
        auditAnnotations: [{ key: 'a', valueExpression: "'b'" }],
      },
    },
    status: {
      observedGeneration: 1,
      typeChecking: { expressionWarnings: [{ fieldRef: 'spec.validations[0].expression', warning: 'w' }] },
      conditions: [
        { type: 'A', status: 'True', reason: 'R', message: 'm', lastTransitionTime: time, observedGeneration: 1 },
      ],
    },
  },
  {
    kind: 'ValidatingAdmissionPolicyBinding',
    path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
    body: {
      metadata,
      spec: {
        policyName: 'gone',
        paramRef: { name: 'a', namespace: 'default', parameterNotFoundAction: 'Allow' },
        matchResources: matchedByPolicy,
        validationActions: ['Warn', 'Audit'],
      },
    },
  },
  ...['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'].map((kind) => ({
    kind,
    path: `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}s`,
    body: { metadata, webhooks: [fullWebhook('a.example.com', kind), webhookAtUrl] },
  })),
]
