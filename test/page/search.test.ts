import { expect, it } from '@jest/globals'
import { openLedger } from '../../src/index.js'
import { searchHits } from '../../src/interfaces/page/reading/search-hits.js'

it('a search keeps messages that only call tools apart from what was said', async () => {
  const ledger = await openLedger({ store: 'memory' })
  try {
    const call = (id: string) => ({
      id,
      type: 'function' as const,
      function: { name: 'find', arguments: '{"what":"quokka"}' },
    })
    await ledger.append('c', [
      { id: 'request', role: 'user', content: 'Where is the quokka?' },
      { id: 'calls', role: 'assistant', content: null, tool_calls: [call('call-1')] },
      { id: 'found', role: 'tool', tool_call_id: 'call-1', content: 'quokka: 1' },
      { id: 'says and calls', role: 'assistant', content: 'There is one.', tool_calls: [call('call-2')] },
    ])
    const idsOf = (hits: readonly { readonly messageIds: readonly string[] }[]): readonly string[] =>
      hits.flatMap(({ messageIds }) => messageIds).toSorted()
    const { said, results } = await searchHits(ledger, 'quokka', {})
    expect(idsOf(said)).toEqual(['request', 'says and calls'])
    expect(idsOf(results)).toEqual(['calls', 'found'])
  } finally {
    await ledger.close()
  }
})
