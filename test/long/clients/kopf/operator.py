"""An operator of kopf's: all sorts of its handlers, on ships of example.com."""

import kopf
import kubernetes


@kopf.on.startup()
def configure(settings, **_):
    settings.persistence.finalizer = 'example.com/kopf'
    settings.peering.lifetime = 6


@kopf.on.create('example.com', 'v1', 'ships')
def create(spec, name, namespace, patch, **_):
    orders = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name}, 'data': {'orders': spec['orders']}}
    kopf.adopt(orders)
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, orders)
    patch.status['phase'] = 'made'
    return {'made': name}


@kopf.on.update('example.com', 'v1', 'ships', field='spec.orders')
def update(new, name, namespace, body, **_):
    kubernetes.client.CoreV1Api().patch_namespaced_config_map(name, namespace, {'data': {'orders': new}})
    kopf.info(body, reason='Ordered', message=f'sails {new}')


@kopf.on.delete('example.com', 'v1', 'ships')
def delete(name, namespace, **_):
    left = {'metadata': {'name': f'{name}-left'}}
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, left)


@kopf.timer('example.com', 'v1', 'ships', interval=1)
def tick(patch, status, **_):
    patch.status['ticks'] = status.get('ticks', 0) + 1


@kopf.daemon('example.com', 'v1', 'ships')
def watch(stopped, name, namespace, **_):
    body = {'metadata': {'annotations': {'watched': 'true'}}}
    kubernetes.client.CustomObjectsApi().patch_namespaced_custom_object('example.com', 'v1', namespace, 'ships', name, body)
    stopped.wait()


@kopf.index('configmaps')
def orders_by_name(name, body, **_):
    return {name: body.get('data', {}).get('orders')}


@kopf.on.event('ships')
def seen(name, patch, orders_by_name, **_):
    for orders in orders_by_name.get(name, []):
        if orders:
            patch.status['indexed'] = orders
