import { change, changeStatus, create, type Kind, type ObjectCase, objectCases } from './object-case.ts'

/** A request of `O=team, CN=ann`, the same key as `O=system:masters, CN=ann`, and its certificate: base64 of PEM. */
export const requestOfAnn = [
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWU1IOENBUUF3SFRFTk1Bc0dBMVVFQ2d3RWRHVmhiVEVNTUFvR0ExVUVBd3',
  'dEWVc1dU1Ga3dFd1lIS29aSQp6ajBDQVFZSUtvWkl6ajBEQVFjRFFnQUVZYWZEdmdZVXkwUGp5ZUtraHpqRXBUT0VmcDFYUTEza0U3MVFmb0tR',
  'CmJrTmdBYW1XMVNsQW5hTXVUanVsbXIwbFloUkNZU1pBOVBmeXBJYU5qaFN4OGFBQU1Bb0dDQ3FHU000OUJBTUMKQTBrQU1FWUNJUUR4eDUvTU',
  '5tdXBFdEdqVWY5S1d0amtadzhmWDZyRjNDREZYRy9ORXVBT0N3SWhBS3FidjVaTgoxaXFveWVhZlRKS3NEMmdnRUc2Q3NQVTB3cG5rcXBMNERs',
  'SEoKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==',
].join('')
const ofMasters = [
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIaU1JR0pBZ0VBTUNjeEZ6QVZCZ05WQkFvTURuTjVjM1JsYlRwdFlYTjBaWE',
  'p6TVF3d0NnWURWUVFEREFOaApibTR3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVJocDhPK0JoVExRK1BKNHFTSE9NU2xNNFIr',
  'Cm5WZERYZVFUdlZCK2dwQnVRMkFCcVpiVktVQ2RveTVPTzZXYXZTVmlGRUpoSmtEMDkvS2tobzJPRkxIeG9BQXcKQ2dZSUtvWkl6ajBFQXdJRF',
  'NBQXdSUUloQUp2RzBSQmRocXFiam82MjdmWGtlcGNqbDZJVEtWNWRZK2pLZ1ZWYgpURWY4QWlBWEV3cVppN2hubEVyYW9lNVVPOHh4dDNFQ0hR',
  'UzBOa3ZWU2RZL2xoQnZPQT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=',
].join('')
export const certificateOfAnn = [
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJkRENDQVJtZ0F3SUJBZ0lVVExXdUtXSld5R1ErYzRDNUplemYxWWtrQVBFd0NnWUlLb1',
  'pJemowRUF3SXcKRGpFTU1Bb0dBMVVFQXd3RFlXNXVNQ0FYRFRJMk1URXlPREV5TkRnME1Wb1lEekl4TWpZeE1UQTBNVEkwT0RReApXakFPTVF3',
  'd0NnWURWUVFEREFOaGJtNHdXVEFUQmdjcWhrak9QUUlCQmdncWhrak9QUU1CQndOQ0FBUmhwOE8rCkJoVExRK1BKNHFTSE9NU2xNNFIrblZkRF',
  'hlUVR2VkIrZ3BCdVEyQUJxWmJWS1VDZG95NU9PNldhdlNWaUZFSmgKSmtEMDkvS2tobzJPRkxIeG8xTXdVVEFkQmdOVkhRNEVGZ1FVcUREUXpE',
  'RklrQnQwUFhkUUhQOUo5Ykx4UXQ0dwpId1lEVlIwakJCZ3dGb0FVcUREUXpERklrQnQwUFhkUUhQOUo5Ykx4UXQ0d0R3WURWUjBUQVFIL0JBVX',
  'dBd0VCCi96QUtCZ2dxaGtqT1BRUURBZ05KQURCR0FpRUFqNTRiY3l6NmdZM0ErakN2WWQzVVBpYU1kWGxhYUVxVnhtYVcKaURaaHFvZ0NJUURX',
  'N3dmSisvY0gyZWF1NkVLNGltOStETlNBRnFxbk1ZalhyTDlGZ3RMMEJnPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=',
].join('')

const usages = ['digital signature', 'client auth']
const kind: Kind = {
  collection: '/apis/certificates.k8s.io/v1/certificatesigningrequests',
  valid: { metadata: { name: 'new' }, spec: { request: requestOfAnn, usages, signerName: 'example.com/own' } },
}
const spec = (fields: object) => ({ spec: fields })
const base64 = (text: string) => Buffer.from(text).toString('base64')
const conditions = (...list: readonly object[]) => ({ status: { conditions: list } })
const is = (type: string, status = 'True') => ({ type, status, reason: 'Test' })
const otherParser = (each: ObjectCase): ObjectCase => ({
  ...each,
  words: 'Kubernetes prints the bytes of the request, and the words of its parser',
})
const approve = (title: string, patch: object, ...causes: readonly string[]): ObjectCase => ({
  ...changeStatus(title, {}, patch as Readonly<Record<string, unknown>>, ...causes),
  subresource: 'approval',
})
const status = (title: string, patch: object, ...causes: readonly string[]): ObjectCase =>
  changeStatus(title, {}, patch as Readonly<Record<string, unknown>>, ...causes)
const both = { ...is('Approved'), lastUpdateTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' }

const signer = (title: string, signerName: string | null, ...causes: readonly string[]) =>
  create(title, spec({ signerName }), ...causes)
const at = 'spec.signerName'
const no = 'status.conditions'

export const signingRequestCases = objectCases('CertificateSigningRequests', kind, [
  create('nothing special', {}),
  create('a name in capitals', { metadata: { name: 'New' } }),
  create('a user of its own, who is replaced', spec({ username: 'eve', groups: ['system:masters'], uid: '1' })),
  create('a status of its own, which is dropped', conditions(is('Approved'))),
  create('ten minutes', spec({ expirationSeconds: 600 })),
  create('less than ten minutes', spec({ expirationSeconds: 599 }), 'Invalid spec.expirationSeconds'),
  create('no usages', spec({ usages: [] }), 'Required spec.usages'),
  create('a usage that is none', spec({ usages: ['signature'] }), 'NotSupported spec.usages[0]'),
  create('a usage twice', spec({ usages: ['any', 'any'] }), 'Duplicate spec.usages[1]'),
  otherParser(create('no request', spec({ request: null }), 'Invalid spec.request')),
  otherParser(create('a request that is a text', spec({ request: base64('hello') }), 'Invalid spec.request')),
  otherParser(create('a certificate as request', spec({ request: certificateOfAnn }), 'Invalid spec.request')),
  signer('a signer with a dot', 'example.com/a.b'),
  signer('no signer', null, `Required ${at}`),
  signer('a signer without domain', 'own', `Invalid ${at}`),
  signer('a signer of one label', 'example/own', `Invalid ${at}`),
  signer('a signer of three parts', 'example.com/a/b', `Invalid ${at}`),
  signer('a signer in capitals', 'Example.com/Own', `Invalid ${at}`),
  signer('the signer of old requests', 'kubernetes.io/legacy-unknown', `Invalid ${at}`),
  signer('the signer of clients', 'kubernetes.io/kube-apiserver-client'),
  {
    ...create('a superuser', spec({ request: ofMasters, signerName: 'kubernetes.io/kube-apiserver-client' })),
    code: 403,
    reason: 'Forbidden',
  },
  create('a superuser of another signer', spec({ request: ofMasters })),
  change('the spec, which stays', {}, spec({ usages: ['any'] })),
  change('the status, which stays', {}, conditions(is('Approved'))),
  approve('an approval', conditions(is('Approved'))),
  approve('a denial', conditions(is('Denied'))),
  approve('an approval that is not true', conditions(is('Approved', 'False')), `NotSupported ${no}[0].status`),
  approve('both', conditions(is('Approved'), is('Denied')), `Invalid ${no}`),
  approve('one twice', conditions(both, both), `Duplicate ${no}[1].type`),
  approve('a condition of no type', conditions({ status: 'True' }), `Required ${no}[0].type`),
  approve('a condition without status', conditions({ type: 'Other' }), `Required ${no}[0].status`),
  approve('a condition of another status', conditions(is('Other', 'Maybe')), `NotSupported ${no}[0].status`),
  approve('a certificate, which stays out', { status: { certificate: certificateOfAnn } }),
  status('a certificate', { status: { certificate: certificateOfAnn } }),
  {
    ...status('a certificate that is none', { status: { certificate: base64('hello') } }, 'Invalid status.certificate'),
    words: 'the words of another parser',
  },
  status('a request as certificate', { status: { certificate: requestOfAnn } }, 'Invalid status.certificate'),
  status('a failure', conditions(is('Failed'))),
  status('an approval by the status', conditions(is('Approved')), `Forbidden ${no}`),
])
