import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { createDialect } from '../../src/model/dialect.ts'

test('the example speaks the default dialect and its slice belongs to its Service', () => {
  const file = resolve(import.meta.dirname, '../../examples/web.yaml')
  const [service, slice] = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS())
  const { groups, labels } = createDialect('platform')
  assert.deepEqual([service.kind, slice.kind], ['Service', 'EndpointSlice'])
  assert.equal(slice.apiVersion, `${groups.discovery}/v1`)
  assert.equal(slice.metadata.labels[labels.serviceName], service.metadata.name)
  assert.equal(slice.metadata.namespace, service.metadata.namespace)
  assert.deepEqual(
    slice.ports.map(({ name }: { name: string }) => name),
    service.spec.ports.map(({ name }: { name: string }) => name),
  )
})

test('the Ingress of the examples is of the class beside it, which our controller serves, for the Service of hello.yaml', () => {
  const read = (name: string) =>
    parseAllDocuments(readFileSync(resolve(import.meta.dirname, `../../examples/${name}`), 'utf8')).map((document) =>
      document.toJS(),
    )
  const [ingressClass, ingress] = read('ingress.yaml')
  const dialect = createDialect('platform')
  for (const { apiVersion } of [ingressClass, ingress]) assert.equal(apiVersion, `${dialect.groups.networking}/v1`)
  assert.equal(ingressClass.spec.controller, `${dialect.domain}/ingress`)
  assert.equal(ingress.spec.ingressClassName, ingressClass.metadata.name)
  const { service } = ingress.spec.rules[0].http.paths[0].backend
  const hello = read('hello.yaml').find(({ kind }) => kind === 'Service')
  assert.deepEqual([service.name, service.port.number], [hello.metadata.name, hello.spec.ports[0].port])
})
