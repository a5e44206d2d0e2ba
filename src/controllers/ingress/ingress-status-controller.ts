import { z } from 'zod'
import type { Component } from '../../loop/component.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { BaseContext } from '../base-context.ts'
import { applyWrites } from '../objects/apply-writes.ts'
import { findCondition } from '../objects/conditions.ts'
import type { Node } from '../objects/node.ts'
import { nodeType } from '../objects/types.ts'
import { noted, writeTarget } from '../objects/write-target.ts'
import { nameOf } from '../objects/writes.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { identitySchema, otherwise } from '../runtime/metadata.ts'
import { resourceType } from '../runtime/resource-type.ts'

const ingressSchema = z.object({
  metadata: identitySchema,
  spec: otherwise(z.object({ ingressClassName: otherwise(z.string(), '') }), { ingressClassName: '' }),
  status: otherwise(
    z.object({ loadBalancer: otherwise(z.object({ ingress: otherwise(z.array(z.unknown()), []) }), { ingress: [] }) }),
    {
      loadBalancer: { ingress: [] },
    },
  ),
})

const classSchema = z.object({
  metadata: identitySchema,
  spec: otherwise(z.object({ controller: otherwise(z.string(), '') }), { controller: '' }),
})

/** The single key of the queue: each pass looks at every Ingress. */
const everything = 'ingresses'

/**
 * Removes the addresses from the status of Ingresses when no Ready node serves them. The nodes that serve write the status themselves, so only the end
 * of the last one leaves addresses. It knows the classes with the default name of our controller.
 */
export function createIngressStatusController({ client, caches, dialect, metrics, log }: BaseContext): Component {
  const { networking } = dialect.groups
  const ingressType = resourceType(networking, 'v1', 'ingresses', 'Ingress', ingressSchema)
  const ingresses = caches.of(ingressType)
  const classes = caches.of(resourceType(networking, 'v1', 'ingressclasses', 'IngressClass', classSchema))
  const nodes = caches.of(nodeType)
  const target = writeTarget(client, caches, [noted(ingressType)])
  const isOurs = (name: string) => classes.get(name)?.spec.controller === `${dialect.domain}/ingress`

  const reconcile = async (_key: string, { signal }: { signal: AbortSignal }) => {
    if ([...nodes.list()].some((node) => doesServe(node, dialect))) return undefined
    const stale = [...ingresses.list()].filter(
      ({ spec, status }) => status.loadBalancer.ingress.length > 0 && isOurs(spec.ingressClassName),
    )
    const patch = { status: { loadBalancer: { ingress: [] } } }
    const writes = stale.map((ingress) => ({
      verb: 'patch' as const,
      target: nameOf(ingressType.resource, ingress),
      subresource: 'status',
      patch,
    }))
    await applyWrites(target, writes, signal)
    return undefined
  }
  const toEverything = () => [everything]
  return new Controller({
    name: 'ingress-status',
    watches: [
      watchKeys(nodes, toEverything, { isSame: (old, next) => doesServe(old, dialect) === doesServe(next, dialect) }),
      watchKeys(ingresses, toEverything, { isSame: (old, next) => hasAddress(old) === hasAddress(next) }),
      watchKeys(classes, toEverything),
    ],
    reconcile,
    workers: 1,
    metrics,
    log: log.child('ingress-status'),
  })
}

function hasAddress({ status }: z.output<typeof ingressSchema>): boolean {
  return status.loadBalancer.ingress.length > 0
}

/** Tells whether a node is Ready and says on which addresses it serves Ingresses. */
function doesServe({ metadata, status }: Node, { annotations }: Dialect): boolean {
  const isReady = findCondition(status.conditions, 'Ready')?.status === 'True'
  return isReady && (metadata.annotations[annotations.ingressAddresses] ?? '') !== ''
}
