#!/bin/sh
# quando itself, measured in the same way as the others. QUANDO is the program.
set -eu

case $1 in
install) ;;
version) "$QUANDO" --version | sed 's/.* //' ;;
path) echo /webhook ;;
run)
	folder=$2 port=$3 service=$4 console=$5
	mkdir -p "$folder/rules"
	cat >"$folder/quando.yaml" <<-END
		service: { base_url: "$service", api_key: bench-key, webhook: { secrets: [bench-signing-secret] } }
		listen: "127.0.0.1:$port"
		console: { listen: "127.0.0.1:$console" }
		safety: { messages_per_conversation: 100000000 per 1h, messages: 100000000 per 1h }
	END
	cat >"$folder/rules/rules.yaml" <<-END
		rules:
		  - { id: answer, when: message.received, if: message.text contains "order", do: [{ send_message: "a {{ event.id }}" }] }
	END
	exec "$QUANDO" run --config "$folder/quando.yaml"
	;;
esac
