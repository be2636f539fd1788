/** `proxy`: forwards an agent's requests to its model API and records the conversation. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { text, toggle, type CliCommand } from '../command.js'
import { line, note, noteColours } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { portOf, unusablePort } from '../port.js'
import { rulesOf } from '../config/rules.js'
import { proxyFlagsOf } from '../proxy-flags.js'
import { withLedger } from '../session.js'

const PORT = 7_800

export const proxy: CliCommand = {
  words: 'proxy',
  describe: 'Record any agent through its base URL: forwards requests to the model API and records both sides',
  uses: ['open', 'record', 'summarize', 'recall'],
  policy: true,
  options: {
    upstream: text('Address of the API: https://api.anthropic.com, https://api.openai.com/v1'),
    mode: text('observe forwards unchanged; compact sends the ledger’s context [default: observe]', [
      'observe',
      'compact',
    ]),
    fail: text('For requests that cannot be recorded: open forwards them, closed rejects them [default: open]', [
      'open',
      'closed',
    ]),
    'offer-memory': toggle('With --mode compact: offer the memory_read tool to the model; the proxy answers its calls'),
    recall: toggle('After a compaction by the agent: add a note of what its context lost to its requests'),
    port: text(`Local port to listen on; 0 picks a free port [default: ${String(PORT)}]`),
    scope: text('Tenant or owner of new conversations'),
  },
  examples: [
    ['$0 proxy --upstream https://api.anthropic.com', 'then: ANTHROPIC_BASE_URL=http://127.0.0.1:7800 claude'],
    ['$0 proxy --upstream https://api.openai.com/v1 --mode compact', 'the agent’s message list may grow without limit'],
  ],
  async run(args) {
    const port = portOf(args) ?? PORT
    const scope = args.text('scope')
    const proxyFlags = proxyFlagsOf(args)
    if (proxyFlags === undefined)
      throw new LedgerError('Usage', '--upstream is required: the API that requests are forwarded to')
    const { upstream: address, mode, fail, recall } = proxyFlags
    await withLedger(args.flags, { creates: true, writes: true }, async ({ ledger, config }) => {
      const [{ startProxy }, { endSignals }, { sentenceOfProblem }] = await Promise.all([
        import('../../proxy/server.js'),
        import('../end-signals.js'),
        import('../../../library/problem.js'),
      ])
      const reported = new Set<string>()
      const onProblem = (problem: unknown): void => {
        const sentence = sentenceOfProblem(problem)
        if (reported.has(sentence)) return
        reported.add(sentence)
        note(`${noteColours.yellow('warning:')} ${sentence}`)
      }
      const ended = endSignals()
      try {
        const server = await startProxy({
          ledger,
          ...proxyFlags,
          port,
          rules: await rulesOf(config),
          onProblem,
          ...(config.policy === undefined ? {} : { policy: config.policy }),
          ...(scope === undefined ? {} : { scope }),
        }).catch((error: unknown) => {
          throw unusablePort(error, 'the proxy', port)
        })
        try {
          await line(
            args.json ? toWire({ url: server.url, upstream: redactedAddress(address), mode, fail }) : server.url,
          )
          note(
            `forwards requests to ${redactedAddress(address)} ${mode === 'compact' ? 'with the ledger’s context' : recall ? 'unchanged, with a note after a compaction' : 'unchanged'}; press Ctrl+C to stop`,
          )
          await ended.signalled
        } finally {
          await server.close()
        }
      } finally {
        ended.forget()
      }
    })
  },
}

/** The address without password and query parameters, which may contain a key. */
function redactedAddress({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}
