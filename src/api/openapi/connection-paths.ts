import { kindOfSubresource } from '../discovery/groups.ts'
import { protobufType } from '../negotiate/accept.ts'
import type { ConnectSubresource, Resource } from '../resources/resource.ts'
import { connectionId, operationId, operationTag } from './operation-id.ts'
import type { Operation, OperationPath } from './operations.ts'
import { connectionParameters, pathParameters } from './parameters.ts'

const streamMethods = ['get', 'post'] as const
const proxyMethods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const
const methodsOf: Readonly<Record<ConnectSubresource, readonly Operation['method'][]>> = {
  attach: streamMethods,
  exec: streamMethods,
  portforward: streamMethods,
  proxy: proxyMethods,
  log: ['get'],
}

/** Returns the paths by which clients connect with the objects of a resource below its path: `exec`, `log`, `proxy`. Their answers are text or streams. */
export function connectionPathsOf(resource: Resource, objectPath: string): readonly OperationPath[] {
  return (resource.connects ?? []).flatMap((subresource) => {
    const path = `${objectPath}/${subresource}`
    return (subresource === 'proxy' ? [path, `${path}/{path}`] : [path]).map((each) => ({
      path: each,
      parameters: [...pathParameters(each), ...connectionParameters[subresource]],
      operations: methodsOf[subresource].map((method) => toOperation(method, resource, subresource, each)),
    }))
  })
}

function toOperation(
  method: Operation['method'],
  resource: Resource,
  subresource: ConnectSubresource,
  path: string,
): Operation {
  const isLog = subresource === 'log'
  return {
    method,
    action: isLog ? 'get' : 'connect',
    id: isLog
      ? operationId('get', { path, actions: ['get'], resource, subresource })
      : connectionId(method, { resource, subresource, hasPath: path.endsWith('{path}') }),
    tag: operationTag(resource),
    description: isLog
      ? `Reads the log of a container of the ${resource.kind}.`
      : `Connects with the ${subresource} of the ${resource.kind}.`,
    parameters: [],
    codes: [200],
    answer: undefined,
    produces: isLog ? ['text/plain', 'application/json', 'application/yaml', protobufType] : ['*/*'],
    kind: kindOfSubresource(resource, subresource),
  }
}
