import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AdmissionRequest } from '../../../../src/api/admission/admission-request.ts'
import { isExemptFromPolicies, isExemptFromWebhooks } from '../../../../src/api/admission/exempt-resources.ts'
import {
  type AdmissionSubject,
  convertTo,
  matchResources,
  subjectOf,
} from '../../../../src/api/admission/match-resources.ts'
import type { ApiDocument, Metadata } from '../../../../src/api/document.ts'
import { defineKind } from '../../../../src/api/resources/define-kind.ts'
import { horizontalPodAutoscalers } from '../../../../src/api/resources/horizontal-pod-autoscalers.ts'
import { Registry } from '../../../../src/api/resources/registry.ts'
import type { Resource } from '../../../../src/api/resources/resource.ts'
import { openMemoryStore } from '../../../../src/api/store/index.ts'
import type { JsonObject } from '../../../../src/model/api-object.ts'
import { silentLogger } from '../../../../src/observe/index.ts'

const pods = defineKind({ group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true })
const namespaces = defineKind({ group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false })
const nodes = defineKind({ group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false })
const [autoscalersV1, autoscalersV2] = horizontalPodAutoscalers().toSorted((left, right) =>
  left.version < right.version ? -1 : 1,
) as [Resource, Resource]

function documentOf({ kind, group, version }: Resource, metadata: Metadata = {}): ApiDocument {
  return { kind, apiVersion: group === '' ? version : `${group}/${version}`, metadata: { name: 'x', ...metadata } }
}

function subject(resource: Resource, changes: Partial<AdmissionRequest> = {}, labels = {}): AdmissionSubject {
  const namespace = resource.namespaced ? 'team' : resource === namespaces ? 'x' : ''
  const request: AdmissionRequest = {
    operation: 'CREATE',
    resource,
    subresource: '',
    kind: resource,
    namespace,
    name: 'x',
    object: documentOf(resource),
    oldObject: undefined,
    options: undefined,
    isDryRun: false,
    user: { name: 'jane', groups: [] },
    ...changes,
  }
  const others = [autoscalersV1, autoscalersV2].filter((each) => each !== resource && resource.group === 'autoscaling')
  return { request, equivalents: others, namespace: namespace === '' ? undefined : documentOf(namespaces, { labels }) }
}

const podRule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'], scope: '*' }
const matches = (constraints: JsonObject, asked: AdmissionSubject) => matchResources(constraints, asked) !== undefined
const byRule = (rule: JsonObject, asked = subject(pods)) => matches({ resourceRules: [{ ...podRule, ...rule }] }, asked)

describe('what matching reads', () => {
  test('the namespace of an object, a Namespace itself, and the other versions of the resource', async () => {
    const store = openMemoryStore({ log: silentLogger })
    const registry = new Registry()
    for (const each of [pods, namespaces, autoscalersV1, autoscalersV2]) registry.add(each)
    const team = documentOf(namespaces, { name: 'team', labels: { team: 'a' } })
    const value = JSON.stringify(team)
    await store.commit([{ kind: 'put', key: '/registry/namespaces/team', value, expectedRevision: 0 }])
    const read = ({ request }: AdmissionSubject) => subjectOf(request, { store, registry })
    assert.deepEqual((await read(subject(pods))).namespace, team)
    assert.deepEqual((await read(subject(pods, { namespace: 'gone' }))).namespace, undefined)
    assert.deepEqual((await read(subject(namespaces))).namespace, documentOf(namespaces))
    assert.deepEqual((await read(subject(autoscalersV2))).equivalents, [autoscalersV1])
    assert.deepEqual((await read(subject(pods))).equivalents, [])
    await store.close()
  })
})

describe('the rules of admission', () => {
  test('a rule matches by operation, group, version, resource and name', () => {
    assert.equal(byRule({}), true)
    assert.equal(byRule({ operations: ['UPDATE', 'DELETE'] }), false)
    assert.equal(byRule({ operations: ['*'] }), true)
    assert.equal(byRule({ apiGroups: ['apps'] }), false)
    assert.equal(byRule({ apiVersions: ['v2'] }), false)
    assert.equal(byRule({ apiGroups: ['*'], apiVersions: ['*'] }), true)
    assert.equal(byRule({ resourceNames: ['x'] }), true)
    assert.equal(byRule({ resourceNames: ['y'] }), false)
  })

  test('a pattern of resources names the subresource or none', () => {
    const status = subject(pods, { subresource: 'status' })
    for (const [pattern, ofObject, ofStatus] of [
      ['pods', true, false],
      ['*', true, false],
      ['pods/status', false, true],
      ['pods/*', true, true],
      ['*/status', false, true],
      ['*/*', true, true],
      ['services/*', false, false],
    ] as const) {
      assert.deepEqual(
        [byRule({ resources: [pattern] }), byRule({ resources: [pattern] }, status)],
        [ofObject, ofStatus],
      )
    }
  })

  test('a Namespace counts as an object of the cluster', () => {
    const any = { apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }
    for (const [resource, ofCluster] of [
      [pods, false],
      [nodes, true],
      [namespaces, true],
    ] as const) {
      assert.equal(byRule({ ...any, scope: 'Cluster' }, subject(resource)), ofCluster)
      assert.equal(byRule({ ...any, scope: 'Namespaced' }, subject(resource)), !ofCluster)
    }
  })

  test('excluded rules win, and no rules match everything', () => {
    assert.equal(matches({}, subject(pods)), true)
    assert.equal(matches({ resourceRules: [podRule], excludeResourceRules: [podRule] }, subject(pods)), false)
    const other = { ...podRule, resourceNames: ['y'] }
    assert.equal(matches({ resourceRules: [podRule], excludeResourceRules: [other] }, subject(pods)), true)
  })
})

describe('the selectors of admission', () => {
  const team = { matchLabels: { team: 'a' } }

  test('a namespace is selected by its labels, which objects of the cluster do not need', () => {
    assert.equal(matches({ namespaceSelector: team }, subject(pods, {}, { team: 'a' })), true)
    assert.equal(matches({ namespaceSelector: team }, subject(pods)), false)
    assert.equal(matches({ namespaceSelector: {} }, subject(pods)), true)
    assert.equal(matches({ namespaceSelector: team }, subject(nodes)), true)
    assert.equal(matches({ namespaceSelector: team }, subject(namespaces)), false)
    assert.equal(matches({ namespaceSelector: team }, subject(namespaces, {}, { team: 'a' })), true)
  })

  test('a namespace that does not exist is selected by no requirement', () => {
    const absent = { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] }
    assert.equal(matches({ namespaceSelector: absent }, { ...subject(pods), namespace: undefined }), false)
  })

  test('a selector that cannot be read matches nothing', () => {
    const wrong = { matchExpressions: [{ key: 'team', operator: 'Is' }] }
    assert.equal(matches({ namespaceSelector: wrong }, subject(pods, {}, { team: 'a' })), false)
    assert.equal(matches({ objectSelector: wrong }, subject(pods)), false)
  })

  test('the old or the new object is selected', () => {
    const [labelled, bare] = [documentOf(pods, { labels: { team: 'a' } }), documentOf(pods)]
    const update = (oldObject: ApiDocument, object: ApiDocument | undefined) =>
      matches({ objectSelector: team }, subject(pods, { operation: 'UPDATE', oldObject, object }))
    assert.deepEqual([update(labelled, bare), update(bare, labelled), update(bare, bare)], [true, true, false])
    assert.equal(update(labelled, undefined), true)
  })
})

describe('equivalent versions', () => {
  const rule = { ...podRule, apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['horizontalpodautoscalers'] }

  test('a rule for another version matches in that version, unless the match is exact', () => {
    const asked = subject(autoscalersV2)
    const found = matchResources({ matchPolicy: 'Equivalent', resourceRules: [rule] }, asked)
    assert.equal(found?.resource, autoscalersV1)
    assert.deepEqual(found?.kind, { group: 'autoscaling', version: 'v1', kind: 'HorizontalPodAutoscaler' })
    assert.equal(matches({ matchPolicy: 'Exact', resourceRules: [rule] }, asked), false)
  })

  test('an object is converted to that version', () => {
    const resource = { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } }
    const spec = { maxReplicas: 3, metrics: [{ type: 'Resource', resource }] }
    const converted = convertTo(autoscalersV1, autoscalersV2, { ...documentOf(autoscalersV2), spec })
    assert.equal(converted.apiVersion, 'autoscaling/v1')
    assert.deepEqual(converted['spec'], { maxReplicas: 3, targetCPUUtilizationPercentage: 70 })
  })
})

describe('resources that admission does not see', () => {
  const of = (group: string, kind: string, plural: string) => subject(defineKindOf(group, kind, plural)).request

  test('webhooks see no configuration of admission, policies no policies and no reviews', () => {
    const cases = [
      [of('admissionregistration.k8s.io', 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies'), true, true],
      [
        of('admissionregistration.k8s.io', 'MutatingWebhookConfiguration', 'mutatingwebhookconfigurations'),
        true,
        false,
      ],
      [of('authentication.k8s.io', 'TokenReview', 'tokenreviews'), false, true],
      [of('example.com', 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies'), false, false],
      [of('', 'Pod', 'pods'), false, false],
    ] as const
    for (const [request, ofWebhooks, ofPolicies] of cases) {
      assert.deepEqual([isExemptFromWebhooks(request), isExemptFromPolicies(request)], [ofWebhooks, ofPolicies])
    }
  })
})

function defineKindOf(group: string, kind: string, plural: string): Resource {
  return { ...pods, group, kind, plural }
}
