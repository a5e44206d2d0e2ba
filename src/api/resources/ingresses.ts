import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'
import { type FieldError, requiredField } from '../schema/field-error.ts'
import type { Store } from '../store/index.ts'
import { defineKind } from './define-kind.ts'
import { validateClassAnnotation, validateIngress } from './ingress-validation.ts'
import { validateLoadBalancer } from './load-balancer-status.ts'
import { readDocuments } from './read-document.ts'
import { type CoWrites, column, type Resource, type Transition } from './resource.ts'

/** The kind Ingress. Admission fills in the default class from the store where a new Ingress names none, and refuses it where there are several. */
export function ingresses(dialect: Dialect, store: Store): Resource {
  return defineKind({
    group: dialect.groups.networking,
    version: 'v1',
    kind: 'Ingress',
    plural: 'ingresses',
    shortNames: ['ing'],
    namespaced: true,
    subresources: ['status'],
    defaults: { spec: { default: {} }, status: { default: { loadBalancer: {} } } },
    countsGeneration: true,
    columns: [
      column('Class', (ingress) => textAt(ingress['spec'], 'ingressClassName') || '<none>'),
      column('Hosts', hostsCell),
      column('Address', addressCell),
      column('Ports', (ingress) => (listAt(ingress['spec'], 'tls').length > 0 ? '80, 443' : '80')),
    ],
    strategy: {
      prepareForCreate: (ingress) => ({ ...ingress, status: { loadBalancer: {} } }),
      validate: (ingress, old) => [
        ...validateIngress(ingress),
        ...(old === undefined ? validateClassAnnotation(ingress, dialect.annotations.ingressClass) : []),
      ],
      validateStatus: validateLoadBalancer,
      coWrites: (transition) => chooseClass(transition, dialect, store),
    },
  })
}

async function chooseClass({ old, next }: Transition, dialect: Dialect, store: Store): Promise<CoWrites> {
  const unchanged: CoWrites = { writes: [], errors: [] }
  if (next === undefined || old !== undefined) return unchanged
  const isNamed = next.metadata.annotations?.[dialect.annotations.ingressClass] !== undefined
  const spec = objectAt(next['spec'])
  if (isNamed || spec['ingressClassName'] !== undefined) return unchanged
  const [ingressClassName, ...others] = await findDefaultClasses(dialect, store)
  if (ingressClassName === undefined) return unchanged
  if (others.length > 0) return { ...unchanged, errors: [severalDefaults([ingressClassName, ...others])] }
  return { ...unchanged, next: { ...next, spec: { ...spec, ingressClassName } } }
}

/** Returns the names of the classes that are marked as default. */
async function findDefaultClasses({ annotations }: Dialect, store: Store): Promise<readonly string[]> {
  const classes = await readDocuments(store, { plural: 'ingressclasses' }, undefined)
  return classes
    .map(({ metadata }) => metadata)
    .filter((metadata) => metadata.annotations?.[annotations.defaultIngressClass] === 'true')
    .flatMap(({ name }) => name ?? [])
    .toSorted()
}

function severalDefaults(names: readonly string[]): FieldError {
  const why = `${names.length} IngressClasses are marked as default (${names.join(', ')}): name one, or leave one marked`
  return requiredField('spec.ingressClassName', why)
}

function hostsCell(ingress: ApiDocument): string {
  const hosts = listAt(ingress['spec'], 'rules').map((rule) => textAt(rule, 'host') || '*')
  return [...new Set(hosts)].join(',') || '*'
}

function addressCell(ingress: ApiDocument): string {
  return listAt(ingress['status'], 'loadBalancer', 'ingress')
    .map((entry) => textAt(entry, 'ip') || textAt(entry, 'hostname'))
    .join(',')
}
