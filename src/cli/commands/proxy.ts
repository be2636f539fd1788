/** `proxy` stands between an agent and its model, and records what they say to each other. */
import { text, toggle, type Command } from '../command.js'
import { InputError } from '../errors.js'
import { line, note, noteColours, toJson } from '../output.js'
import { portOf, unusablePort } from '../port.js'
import { proxiedOf } from '../proxied.js'
import { withLedger } from '../session.js'

const PORT = 7_800

export const proxy: Command = {
  words: 'proxy',
  describe: 'Record any agent by its base URL: passes what it asks to its model’s API, and what that answers back',
  policy: true,
  options: {
    upstream: text('Address of the API: https://api.anthropic.com, https://api.openai.com/v1'),
    mode: text('observe changes nothing; compact sends the ledger’s context [default: observe]', [
      'observe',
      'compact',
    ]),
    fail: text(
      'What becomes of requests that cannot be recorded: open passes them on, closed refuses [default: open]',
      ['open', 'closed'],
    ),
    'offer-memory': toggle('With --mode compact: offer memory_read to the model, and answer it here'),
    port: text(`Port to listen on, on this machine alone; 0 takes any that is free [default: ${String(PORT)}]`),
    scope: text('Tenant or owner of new conversations'),
  },
  examples: [
    ['$0 proxy --upstream https://api.anthropic.com', 'then: ANTHROPIC_BASE_URL=http://127.0.0.1:7800 claude'],
    ['$0 proxy --upstream https://api.openai.com/v1 --mode compact', 'the agent’s list may grow without end'],
  ],
  async run(given) {
    const port = portOf(given) ?? PORT
    const scope = given.text('scope')
    const proxied = proxiedOf(given)
    if (proxied === undefined) throw new InputError('Usage', '--upstream names the API to pass requests on to')
    const { upstream: address, mode, fail } = proxied
    await withLedger(given.flags, { creates: true, writes: true }, async ({ ledger, config }) => {
      const [{ startProxy }, { endSignals }, { sentenceOfProblem }] = await Promise.all([
        import('../../proxy/server.js'),
        import('../end-signals.js'),
        import('../../library/problem.js'),
      ])
      const told = new Set<string>()
      const onProblem = (problem: unknown): void => {
        const sentence = sentenceOfProblem(problem)
        if (told.has(sentence)) return
        told.add(sentence)
        note(`${noteColours.yellow('warning:')} ${sentence}`)
      }
      const ended = endSignals()
      try {
        const served = await startProxy({
          ledger,
          ...proxied,
          port,
          onProblem,
          ...(config.policy === undefined ? {} : { policy: config.policy }),
          ...(scope === undefined ? {} : { scope }),
        }).catch((error: unknown) => {
          throw unusablePort(error, 'the proxy', port)
        })
        try {
          await line(given.json ? toJson({ url: served.url, upstream: shown(address), mode, fail }) : served.url)
          note(
            `passes requests on to ${shown(address)}, and ${mode === 'observe' ? 'changes nothing' : 'sends the ledger’s context'}; Ctrl+C ends it`,
          )
          await ended.signalled
        } finally {
          await served.close()
        }
      } finally {
        ended.forget()
      }
    })
  },
}

/** The address without its password, and without its parameters, among which a key may be. */
function shown({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}
