import { after, before, describe } from 'node:test'
import { openEtcdStore } from '../../../../src/api/store/etcd/open-etcd-store.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { EtcdCluster, etcdLack } from '../../../helpers/etcd.ts'
import { shiftRevisions } from '../../../helpers/shifted-store.ts'
import { describeStore } from '../../../helpers/store-contract.ts'

describe('the contract of every store, in etcd', { skip: etcdLack ?? false }, () => {
  let etcd: EtcdCluster
  let places = 0
  before(async () => {
    etcd = await EtcdCluster.start()
  })
  after(() => etcd[Symbol.asyncDispose]())

  describeStore('a store in etcd', async (t) => {
    const store = await openEtcdStore({
      connection: { servers: etcd.servers },
      prefix: `/test-${++places}`,
      dialect: 'platform',
      authority: 'one',
      log: silentLogger,
    })
    t.after(() => store.close())
    return shiftRevisions(store, store.revision - 1)
  })
})
