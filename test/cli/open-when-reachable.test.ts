/** A worker that starts before its store. */
import { describe, expect, it } from '@jest/globals'
import { openWhenReachable } from '../../src/interfaces/cli/workers/open-when-reachable.js'
import { storeError } from '../../src/ports/store-error.js'

describe('a worker that starts before its store', () => {
  const store = { close: () => Promise.resolve() }
  const unavailable = storeError('StoreUnavailable', 'esdb://a cannot be reached')

  it('waits for it, and reports each failure', async () => {
    const reported: string[] = []
    let failures = 2
    const open = (): Promise<typeof store> => (failures-- > 0 ? Promise.reject(unavailable) : Promise.resolve(store))
    expect(await openWhenReachable(open, (detail) => void reported.push(detail))).toBe(store)
    const sentence = 'esdb://a cannot be reached; waiting for the store'
    expect(reported).toEqual([sentence, sentence])
  })

  it('ends at a signal', async () => {
    const open = (): Promise<typeof store> => {
      setImmediate(() => process.emit('SIGTERM'))
      return Promise.reject(unavailable)
    }
    expect(await openWhenReachable(open, () => undefined)).toBeUndefined()
  })

  it('ends with an error that waiting does not mend', async () => {
    const refused = storeError('StoreRefused', 'access denied')
    await expect(
      openWhenReachable(
        () => Promise.reject(refused),
        () => undefined,
      ),
    ).rejects.toBe(refused)
  })
})
