import { ApiError } from '../../src/client/index.ts'
import type { TestServer } from './api-server.ts'
import { accessOfServer } from './controllers.ts'
import { DisturbedClient } from './disturbed-client.ts'

/** A client of which every third write fails: in turn refused as a conflict, or done while the answer is lost. */
export class FlakyClient extends DisturbedClient {
  #writes = 0

  constructor(server: TestServer) {
    super(accessOfServer(server))
  }

  protected override async disturb<T>(write: () => Promise<T>): Promise<T> {
    this.#writes += 1
    if (this.#writes % 6 === 3) throw new ApiError('conflict', 'a conflict made by the test')
    const answer = await write()
    if (this.#writes % 6 === 0) throw new ApiError('unavailable', 'an answer lost by the test')
    return answer
  }
}
