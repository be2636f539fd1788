/** The ways in which Russian states a rule for the work of the other speaker. */
import { CYRILLIC, anywhere, order, type Language } from './way.js'

export const RUSSIAN: Language = {
  letters: /\p{Script=Cyrillic}/u,
  alphabet: CYRILLIC,
  ways: [
    order(
      'prohibition: не',
      String.raw`(?:никогда )?не (?!(?:волнуй|переживай|бойся|грусти|стесняй|забывай|за что|могу|хочу|знаю|очень|только)\p{L}*)\p{L}+(?:й|йте|йся|йтесь|ь|ьте|и|ите)`,
    ),
    order(
      'obligation: всегда, только',
      String.raw`(?:всегда|обязательно|только) \p{L}+(?:й|йте|ь|ьте|и|ите)(?<!ть|ли)`,
    ),
    anywhere('prohibition: нельзя', String.raw`нельзя|запрещ[её]н\p{L}*|убедись|убедитесь|избегай(?:те)?`),
    anywhere('obligation: должен', '(?:должен|должна|должно|должны)(?! быть)', {
      unless: /(?<![\p{L}\p{N}])я\s+$/u,
    }),
    anywhere('style: предпочитаю', 'предпочитаю [^.!?]{1,120}? (?:вместо|а не)|(?:не )?хочу, чтобы (?:ты|вы)'),
  ],
}
