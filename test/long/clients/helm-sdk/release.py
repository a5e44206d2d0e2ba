"""The life of one release by Helm's Go SDK; prints a line of JSON with what each step returned.

The two arguments are the folder of a chart and a namespace.
"""

import json
import sys

import helm_python as helm

chart, namespace = sys.argv[1:]
name = 'shop'


def revisions(config):
    return [[each['revision'], each['status']] for each in config.history(name)]


with helm.Config(namespace=namespace) as config:
    steps = {'sdk': helm.helm_sdk_version()}
    config.check_reachable()
    first = config.install(chart, name, {'replicas': 2}, wait='watcher', timeout=120, create_namespace=True)
    steps['install'] = first['status']
    dry = config.upgrade(chart, name, {'message': 'dry'}, dry_run='server')
    steps['dry'] = ['message: "dry"' in dry['manifest'], revisions(config)]
    config.upgrade(chart, name, {'message': 'second', 'replicas': 3}, wait='watcher', timeout=120, max_history=5)
    try:
        config.upgrade(chart, name, {'replicas': -1}, rollback_on_failure=True, wait='watcher', timeout=120)
    except helm.HelmError as error:
        steps['refused'] = str(error)
    config.rollback(name, version=1, wait='watcher', timeout=120)
    steps['history'] = revisions(config)
    steps['values'] = config.get_values(name)
    steps['listed'] = [each['name'] for each in config.list(all_namespaces=True)]
    removed = config.uninstall(name, wait='watcher', timeout=120)
    steps['left'] = [each['name'] for each in config.list(all_namespaces=True, all_states=True)]
print(json.dumps(steps))
