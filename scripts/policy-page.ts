/** The text of docs/reference/policy.md, from the list of settings. */
import { z } from 'zod'
import { policySettings, type Setting } from '../src/domain/values/policy-settings.js'

const names = ({ value }: Setting): string =>
  value instanceof z.ZodEnum ? `. One of ${value.options.map((name) => `\`${String(name)}\``).join(', ')}` : ''

const row = ([name, setting]: readonly [string, Setting]): string => {
  const byDefault = String(setting.byDefault)
  const isName = setting.value instanceof z.ZodEnum
  return `| \`${name}\` | ${setting.description}${names(setting)} | ${isName ? `\`${byDefault}\`` : byDefault} |`
}

export const policyPage = [
  '# The policy',
  '',
  'For readers who tune compaction. `npm run catalogue` writes this page from `src/domain/values/policy-settings.ts`; do not edit it.',
  '',
  'The policy is recorded with the conversation; a change applies from the next append.',
  'Each setting has a flag (`--keep-recent`; `--agent-model` for `model`), a key in a policy file (`keepRecent`) and a field in `openLedger({ policy })`. The patterns of secrets have no flag.',
  '',
  '| setting | meaning | default |',
  '| --- | --- | --- |',
  ...Object.entries<Setting>(policySettings).map(row),
  '',
  'The hard limit is `modelMaxTokens` minus the three reserves. The soft limit is `contextBudget` times the hard limit.',
  '[Decision 0003](../decisions/0003-default-policy.md) has the measurements for the defaults.',
  'More about [views](views.md), [the rules for messages](messages.md#what-a-context-looks-like) and [secrets](../guides/secrets.md).',
  '',
  'Next: [Views](views.md).',
  '',
].join('\n')
