import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * The Java client as the contract suite of listener/rmqtest plays it. It sends messages of every kind
 * to a topic and consumes those with the tags paid and shipped; a message whose key ends in "fails"
 * fails once. Then it prints what it was told of each message and exits with 0, or with 1 if it got
 * fewer deliveries than it is to wait for.
 *
 * <p>Usage: java -cp 'JARS/*' Client.java NAMESERVER TOPIC GROUP DELIVERIES
 */
public class Client {
    private static final ConcurrentLinkedQueue<String> deliveries = new ConcurrentLinkedQueue<>();

    /** Longer than a busy machine needs, so that nothing fails or is sent twice. */
    private static final int PATIENCE_MILLIS = 60_000;

    public static void main(String[] args) {
        try {
            play(args);
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1); // the client's own threads would go on for ever
        }
    }

    private static void play(String[] args) throws Exception {
        String nameServer = args[0], topic = args[1], group = args[2];
        CountDownLatch wanted = new CountDownLatch(Integer.parseInt(args[3]));

        DefaultMQProducer producer = new DefaultMQProducer(group + "-java");
        producer.setNamesrvAddr(nameServer);
        producer.setInstanceName(group); // shared with the consumer: each takes 3 s to shut down
        producer.setSendMsgTimeout(PATIENCE_MILLIS);
        producer.setMqClientApiTimeout(PATIENCE_MILLIS);
        producer.start();
        produce(producer, topic);

        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(group);
        consumer.setMqClientApiTimeout(PATIENCE_MILLIS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAwaitTerminationMillisWhenShutdown(10_000); // so that all is committed
        consumer.subscribe(topic, "paid || shipped");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            boolean fails = false;
            for (MessageExt m : messages) {
                deliveries.add(tell(m));
                fails |= m.getKeys().endsWith("fails") && m.getReconsumeTimes() == 0;
                wanted.countDown();
            }
            return fails ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        boolean got = wanted.await(120, TimeUnit.SECONDS);
        consumer.shutdown();
        producer.shutdown();

        List<String> sorted = new ArrayList<>(deliveries);
        Collections.sort(sorted);
        sorted.forEach(System.out::println);
        System.exit(got ? 0 : 1);
    }

    private static void produce(DefaultMQProducer producer, String topic) throws Exception {
        tellSent("J-single", producer.send(message(topic, "paid", "J-single")));
        tellSent("J-fails", producer.send(message(topic, "paid", "J-fails")));
        tellSent("J-filtered", producer.send(message(topic, "returned", "J-filtered")));
        List<Message> batch = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            batch.add(message(topic, "shipped", "J-batch-" + i));
        }
        tellSent("J-batch", producer.send(batch));
        producer.sendOneway(message(topic, "paid", "J-oneway"));
        Message delayed = message(topic, "paid", "J-delayed");
        delayed.setDelayTimeLevel(1);
        tellSent("J-delayed", producer.send(delayed));
    }

    private static Message message(String topic, String tag, String key) {
        return new Message(topic, tag, key, ("body of " + key).getBytes(StandardCharsets.UTF_8));
    }

    private static void tellSent(String key, SendResult r) {
        System.out.printf("sent %s: %s, id %s, offset ids %s, transaction %s%n", key, r.getSendStatus(), r.getMsgId(),
            r.getOffsetMsgId(), r.getTransactionId());
    }

    private static String tell(MessageExt m) {
        return String.format("got %s, delivery %d: topic %s, tag %s, id %s, offset id %s, body %s, level %s, first id %s",
            m.getKeys(), m.getReconsumeTimes(), m.getTopic(), m.getTags(), m.getMsgId(),
            ((MessageClientExt) m).getOffsetMsgId(), new String(m.getBody(), StandardCharsets.UTF_8),
            m.getProperty(MessageConst.PROPERTY_DELAY_TIME_LEVEL),
            m.getProperty(MessageConst.PROPERTY_ORIGIN_MESSAGE_ID));
    }
}
