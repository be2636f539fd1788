/** The ways in which Portuguese states a rule for the work of the other speaker. */
import { LATIN, anywhere, order, wordsOf, type Language } from './way.js'

export const PORTUGUESE: Language = {
  letters: /[a-z]/u,
  alphabet: LATIN,
  frequent:
    wordsOf(`os uma dos das em nos nas para por com não sem que é eu você nunca sempre deve devem certifique garanta prefiro está ao aos
    esquema evite evitar proibido`),
  ways: [
    order(
      'prohibition, obligation: nunca, sempre',
      String.raw`(?:nunca|jamais|sempre) (?!(?:me|te|le|lo|la|los|nos|se|he|ha|foi|fue|es|está|que|mais|gostei|quis|pensei|amei|um|uma)(?![\p{L}\p{N}]))\p{L}+(?<!é|ó|ei|ou|aba|ía|ava|ia|amos)`,
    ),
    order('obligation: certifique-se', 'certifique-se|garanta|evitar?'),
    anywhere('prohibition: é proibido', '(?:é|está) proibido'),
    anywhere(
      'obligation: deve',
      String.raw`(?:devem|deve)(?= \p{L}+[aei]r(?![\p{L}])| (?:nunca|sempre|não))(?! estar (?:muito|tão)| ser (?:muito|tão)| ter )`,
      { unless: /(?<![\p{L}\p{N}])eu\s+$/u },
    ),
    anywhere('style: prefiro', 'prefiro [^.!?]{1,120}? (?:em vez de|ao invés)'),
    order(
      'prohibition: não',
      'não (?:use|altere|mude|apague|remova|toque|escreva|modifique|faça|inclua|adicione|envie)',
    ),
    order('default: a partir de agora', String.raw`(?:a partir de agora|daqui em diante|por padrão),? (?!eu )\p{L}+`),
  ],
}
