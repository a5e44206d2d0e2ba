import { ApiError } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import type { ControllerKit } from '../kit.ts'
import { namespaceType, serviceAccountType } from '../objects/types.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'

/** Pods that name no other run as this one. */
const accountName = 'default'

/** Every namespace has its default ServiceAccount, also after somebody deleted it. Its keys are namespaces. */
export function createServiceAccountController({ caches, metrics, log }: ControllerKit): Component {
  const namespaces = caches.of(namespaceType)
  const accounts = caches.of(serviceAccountType)
  const writer = caches.writer(serviceAccountType)
  const reconcile = async (name: string, { signal }: { signal: AbortSignal }) => {
    const namespace = namespaces.get(name)
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return undefined
    if (accounts.get(`${name}/${accountName}`) !== undefined) return undefined
    try {
      await writer.create({ name: accountName, namespace: name }, {}, signal)
    } catch (error) {
      // The namespace is gone, or going: nothing to do any more.
      const isLeaving =
        error instanceof ApiError && error.causes.some(({ reason }) => reason === 'NamespaceTerminating')
      if (!isLeaving && !(error instanceof ApiError && error.code === 'not-found')) throw error
    }
    return undefined
  }
  return new Controller({
    name: 'serviceaccount',
    watches: [
      watchKeys(namespaces, ({ metadata }) => [metadata.name]),
      watchKeys(accounts, ({ metadata }) =>
        metadata.name === accountName && metadata.namespace !== undefined ? [metadata.namespace] : [],
      ),
    ],
    reconcile,
    metrics,
    log: log.child('serviceaccount'),
  })
}
