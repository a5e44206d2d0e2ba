import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  fieldValidationCases,
  gaugeDefinition,
  gauges,
  validBodies,
  warningTexts,
} from '../../helpers/field-validation-cases.ts'
import { lackOfPeer, type Peer, startPeer } from '../../helpers/kubernetes-peer.ts'
import { paths } from '../../helpers/manifests.ts'

const skip = lackOfPeer() ?? false

describe('unknown and duplicate fields, in the words of kube-apiserver', { skip }, () => {
  let peer: Peer
  let counter = 0
  before(async () => {
    peer = await startPeer()
    await peer.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', gaugeDefinition)
    while ((await peer.call('GET', gauges)).code !== 200) await sleep(50)
  })
  after(() => peer[Symbol.asyncDispose]())

  for (const each of fieldValidationCases)
    test(each.title, async () => {
      const name = `checked-${counter++}`
      const collection = each.kind === 'Service' ? paths.services : gauges
      const valid = JSON.parse(validBodies[each.kind].replace('NAME', name))
      if (each.method !== 'POST') assert.equal((await peer.call('POST', collection, valid)).code, 201)
      const send = async (mode: string) => {
        const found = await peer.call('GET', `${collection}/${name}`)
        const revision = found.code === 200 ? found.body.metadata.resourceVersion : ''
        const body = each.body.replace('NAME', name).replace('REVISION', revision)
        const path = each.method === 'POST' ? collection : `${collection}/${name}`
        const manager = each.type === 'apply-patch+yaml' ? '&fieldManager=one&force=true' : ''
        return peer.send(
          each.method,
          `${path}?fieldValidation=${mode}${manager}&dryRun=All`,
          body,
          `application/${each.type}`,
        )
      }
      const strict = await send('Strict')
      const { message } = JSON.parse(strict.bytes.toString())
      const ending = each.strict.replace('NAME', name)
      assert.equal(message.slice(-ending.length), ending, message)
      const warned = await send('Warn')
      assert.equal(warned.code < 300, each.warnings !== undefined, warned.bytes.toString())
      assert.deepEqual([...warningTexts(warned.headers['warning'])].sort(), [...(each.warnings ?? [])].sort())
    })
})
